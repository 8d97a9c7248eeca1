import assert from "node:assert/strict";
import { unknownValue } from "../../../src/api/unknown.js";
import {
  describeChanges,
  planSummary,
  planTree,
  shownValue,
  verbOf,
} from "../../../src/plan/changes/tree.js";
import { nodeKey, type NodeKey } from "../../../src/graph/graph.js";
import type { Plan } from "../../../src/plan/plan.js";
import { assertGolden } from "../../support/golden.js";
import { samplePlans } from "../../support/sample-plans.js";

/** What `capstan plan` prints, without colours and column widths. */
function textOf(plan: Plan): string {
  const lines = planTree(plan).map(({ branch, label, kind, detail }) =>
    [`${branch}${label}`, verbOf(kind), detail].filter((part) => part !== "").join("  "),
  );
  return `${[...lines, "", planSummary(plan)].join("\n")}\n`;
}

describe("the text of a plan", () => {
  for (const { name, given } of samplePlans) {
    it(`${name}.txt`, async () => assertGolden(name, textOf(await given())));
  }
});

describe("infrastructure in the tree of a plan", () => {
  const labelsOf = (...keys: NodeKey[]) => {
    const infrastructure = keys.map((key) => ({
      key,
      kind: "create" as const,
      changes: [],
      reasons: [],
    }));
    const plan = {
      cluster: "default/prod",
      infrastructure,
      machines: [],
      target: { machines: [] },
    };
    return planTree(plan as unknown as Plan)
      .slice(1)
      .map(({ label }) => label);
  };

  it("is called by its name where that tells it apart, else by its kind as well", () => {
    assert.deepEqual(labelsOf(nodeKey("Net", "network"), nodeKey("Lb", "api")), ["network", "api"]);
    assert.deepEqual(
      labelsOf(nodeKey("Net", "network"), nodeKey("Lb", "api"), nodeKey("Group", "api")),
      ["Net network", "Lb api", "Group api"],
    );
  });
});

describe("changed fields as people read them", () => {
  const cannot = "this provider cannot resize";
  const cases = [
    {
      name: "a text that is empty, or of several words, in quotes, and what it is compared with",
      given: [
        { path: "note", from: "", to: "hello" },
        { path: "motto", from: "one", to: "two words" },
      ],
      why: [],
      want: 'note "" -> "hello", motto "one" -> "two words"',
    },
    {
      name: "a reason at the field that it is about",
      given: [
        { path: "size", from: "small", to: "large", reason: cannot },
        { path: "diskGib", from: 20, to: 40 },
      ],
      want: `size small -> large (${cannot}), diskGib 20 -> 40`,
    },
    {
      name: "what a change in place disturbs",
      given: [
        { path: "size", from: "small", to: "large", disruptive: "the host is restarted" },
        { path: "diskGib", from: 20, to: 40 },
      ],
      why: [],
      want: "size small -> large (disruptive: the host is restarted), diskGib 20 -> 40",
    },
    {
      name: "a reason for all of them once",
      given: [
        { path: "size", from: "small", to: "large", reason: "policy replaceOnly asks for it" },
        { path: "diskGib", from: 20, to: 40, reason: "policy replaceOnly asks for it" },
      ],
      why: ["policy replaceOnly asks for it"],
      want: "size small -> large, diskGib 20 -> 40 (policy replaceOnly asks for it)",
    },
    {
      name: "reasons that are about none of them, all of them",
      given: [{ path: "size", from: "small", to: "large", reason: cannot }],
      why: ["its host failed in the cloud", "the cloud takes it away at noon", cannot],
      want: `its host failed in the cloud; the cloud takes it away at noon; size small -> large (${cannot})`,
    },
    {
      name: "what is taken away",
      given: [{ path: "zone", from: "a" }],
      why: [],
      want: "zone a -> none",
    },
  ];
  for (const { name, given, why = [cannot], want } of cases) {
    it(name, () => assert.equal(describeChanges(given, why), want));
  }

  it("unknown values inside of lists and objects", () => {
    const list = [unknownValue, "a", { id: unknownValue }];
    const want = '[(known after apply),"a",{"id":(known after apply)}]';
    assert.equal(shownValue(list), want);
  });

  it("taints as kubectl writes them", () => {
    const taints = [
      { key: "dedicated", value: "db", effect: "NoSchedule" },
      { key: "spot", effect: "NoExecute" },
    ];
    assert.equal(shownValue(taints, "taints"), "dedicated=db:NoSchedule spot:NoExecute");
  });
});
