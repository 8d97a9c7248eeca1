import assert from "node:assert/strict";
import { verdictByField } from "../../../src/provider/fields.js";
import type { Plan } from "../../../src/plan/plan.js";
import { refuseBeyond } from "../../../src/plan/refusals/undo-class.js";
import { undoText } from "../../../src/plan/undo/undo-text.js";
import { failsWith } from "../../support/errors.js";
import {
  cluster,
  desiredOf,
  localProvider,
  machine,
  type Manifest,
} from "../../support/manifests.js";
import { FakeEngine } from "../../support/fake-engine.js";

const member = machine("cp", { controlPlane: "1.34.2" });
const worker = machine("web", { diskGib: 20 });

async function planAfter(
  before: readonly Manifest[] | undefined,
  after: readonly Manifest[],
  happens: (engine: FakeEngine) => void = () => {},
): Promise<Plan> {
  const engine = new FakeEngine();
  if (before !== undefined) await engine.settle(desiredOf([cluster(), ...before]));
  happens(engine);
  return engine.plan(desiredOf([cluster(), ...after]));
}

/** "update LocalHost/web-#-1: reversible": an answer for each step, without hashes. */
function answers({ undo }: Plan): string[] {
  return undo.map(({ step, key, class: found, reason }) => {
    const why = reason === "" ? "" : ` (${reason})`;
    return `${step} ${key}: ${found}${why}`.replace(/-[0-9a-f]{8}(?=-|:)/g, "-#");
  });
}

const deletedWorker = "compensable (deleted; taken back by making a new one)" as const;

describe("how each step of a plan can be taken back", () => {
  const cases: { name: string; given(): Promise<Plan>; want: readonly string[] }[] = [
    {
      name: "a creation exactly",
      given: () => planAfter([member], [member, worker]),
      want: ["create LocalHost/web-#-1: reversible"],
    },
    {
      name: "an update whose opposite is in place",
      given: () => planAfter([worker], [machine("web", { diskGib: 20, tags: { a: "1" } })]),
      want: ["update LocalHost/web-#-1: reversible"],
    },
    {
      name: "an update whose opposite needs a new worker",
      given: () => planAfter([worker], [machine("web", { diskGib: 40 })]),
      want: [
        "update LocalHost/web-#-1: compensable (taken back by making a new one: a disk only grows)",
      ],
    },
    {
      name: "an update whose opposite needs a new control-plane machine",
      given: () =>
        planAfter(
          [machine("cp", { controlPlane: "1.34.2", diskGib: 20 })],
          [machine("cp", { controlPlane: "1.34.2", diskGib: 40 })],
        ),
      want: [
        "update LocalHost/cp-#-1: pointOfNoReturn (a control-plane machine would lose its data: a disk only grows)",
      ],
    },
    {
      name: "an update in place, beside a change of somebody else that nothing takes back",
      given: () =>
        planAfter(
          [machine("cp", { controlPlane: "1.34.2" })],
          [machine("cp", { controlPlane: "1.34.2", size: "medium", otherSizes: ["large"] })],
          (engine) => engine.cloud.drift(engine.hosts()[0]?.id ?? "", { size: "large" }),
        ),
      want: ["update LocalHost/cp-#-1: reversible"],
    },
    {
      name: "a newer minor version of the control plane",
      given: () => planAfter([member], [machine("cp", { controlPlane: "1.35.0" })]),
      want: [
        "update LocalHost/cp-#-1: pointOfNoReturn (a newer control plane cannot be taken back to an older one)",
      ],
    },
    {
      name: "a newer patch of the control plane",
      given: () => planAfter([member], [machine("cp", { controlPlane: "1.34.9" })]),
      want: ["update LocalHost/cp-#-1: reversible"],
    },
    {
      name: "a deletion of a worker",
      given: () => planAfter([member, worker], [member]),
      want: [`delete LocalHost/web-#-1: ${deletedWorker}`],
    },
    {
      name: "a deletion of a control-plane machine that has another beside it",
      given: () => planAfter([member, machine("cp2", { controlPlane: "1.34.2" })], [member]),
      want: ["delete LocalHost/cp2-#-1: compensable (a new member gets its data from the others)"],
    },
    {
      name: "a replacement of a control-plane machine: its old host goes",
      given: () => planAfter([member], [machine("cp", { controlPlane: "1.34.2", size: "large" })]),
      want: [
        "create LocalHost/cp-#-1: reversible",
        "delete LocalHost/cp-#-1: pointOfNoReturn (what the only control-plane machine stores goes with it)",
      ],
    },
    {
      name: "the record of a host that is gone already",
      given: () =>
        planAfter([worker], [worker], (engine) => engine.cloud.kill(engine.hosts()[0]?.id ?? "")),
      want: ["create LocalHost/web-#-2: reversible", "delete LocalHost/web-#-1: reversible"],
    },
    { name: "nothing of an empty plan", given: () => planAfter([member], [member]), want: [] },
  ];
  for (const { name, given, want } of cases) {
    it(name, async () => assert.deepEqual(answers(await given()), want));
  }

  it("answers for every step, in their order", async () => {
    const plan = await planAfter(
      [member, worker],
      [machine("cp", { controlPlane: "1.35.0" }), machine("new")],
    );
    assert.deepEqual(
      plan.undo.map(({ step, key }) => [step, key]),
      plan.steps.map(({ kind, key }) => [kind, key]),
    );
  });

  it("does not count as a change what a reference stands for", async () => {
    const local = localProvider();
    const rooted = Object.create(local, {
      verdict: {
        value: (kind: string, from: never, to: never) =>
          kind === "LocalHost"
            ? verdictByField({ tags: { kind: "inPlace" } }, from, to)
            : local.verdict(kind, from, to),
      },
    }) as typeof local;
    const engine = new FakeEngine({ provider: rooted });
    await engine.settle(desiredOf([cluster(), worker]));
    const tagged = machine("web", { diskGib: 20, tags: { a: "1" } });
    const plan = await engine.plan(desiredOf([cluster(), tagged]));
    assert.deepEqual(answers(plan), ["update LocalHost/web-#-1: reversible"]);
  });
});

describe("what --require allows", () => {
  const upgrade = () =>
    planAfter([member, worker], [machine("cp", { controlPlane: "1.35.0" }), machine("new")]);

  it("refuses every step that is worse, all at once", async () => {
    const plan = await upgrade();
    assert.throws(
      () => refuseBeyond(plan, "reversible"),
      failsWith(
        "NOT_REVERSIBLE",
        /^cannot update LocalHost\/cp-\w+-1: it is a point of no return: .*\ncannot delete LocalHost\/web-\w+-1: it is compensable only: [^\n]*$/,
      ),
    );
    assert.throws(
      () => refuseBeyond(plan, "compensable"),
      failsWith("NOT_REVERSIBLE", /^cannot update LocalHost\/cp-[^\n]*$/),
    );
  });

  it("allows what is no worse, and everything when nothing is required", async () => {
    const plan = await upgrade();
    refuseBeyond(plan, "pointOfNoReturn");
    refuseBeyond(plan);
    refuseBeyond(await planAfter([member], [member, worker]), "reversible");
    assert.equal(plan.undo.length, 3);
  });
});

describe("what a plan says about taking it back", () => {
  const cases: { name: string; given(): Promise<Plan>; want: string }[] = [
    {
      name: "that it can be",
      given: () => planAfter([member], [member, worker]),
      want: "Undo: every step can be taken back until the commit",
    },
    {
      name: "what is deleted after the commit",
      given: () => planAfter([member, worker], [member]),
      want: "Undo: every step can be taken back until the commit; then 1 resource is deleted",
    },
    {
      name: "how many steps are taken back by something new",
      given: () => planAfter([worker], [machine("web", { diskGib: 40 })]),
      want: "Undo: every step can be taken back until the commit, 1 of them by making something new",
    },
    { name: "nothing when nothing is done", given: () => planAfter([member], [member]), want: "" },
  ];
  for (const { name, given, want } of cases) {
    it(name, async () => assert.equal(undoText(await given()), want));
  }

  it("until when it can be", async () => {
    const plan = await planAfter([member], [machine("cp", { controlPlane: "1.35.0" })]);
    assert.match(
      undoText(plan),
      /^Undo: only until LocalHost\/cp-\w+-1 is updated: a newer control plane cannot be taken back/,
    );
  });
});
