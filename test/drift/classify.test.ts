import assert from "node:assert/strict";
import { classifyDrift, type DriftItem, driftCounts } from "../../src/drift/classify.js";
import { findingText } from "../../src/drift/drift-text.js";
import { nodeKey } from "../../src/graph/graph.js";
import { localProvider } from "../support/manifests.js";
import type { FakeEngine } from "../support/fake-engine.js";
import { change, hostOf, kill, reportOn, running, desiredWith } from "./drifting.js";

/** "changed a inPlace tags {} -> {"by":"hand"}". */
function line(item: DriftItem): string {
  const fields = "fields" in item ? item.fields : [];
  return [
    item.class,
    item.machine?.name ?? item.kind,
    ...("back" in item ? [item.back.kind] : []),
    ...("origin" in item ? [item.origin] : []),
    ...fields.map(
      ({ path, recorded, seen }) =>
        `${path} ${JSON.stringify(recorded)} -> ${JSON.stringify(seen)}`,
    ),
  ].join(" ");
}

function network(engine: FakeEngine) {
  const found = engine.alive().find(({ who }) => who.kind === "LocalNetwork");
  assert.ok(found !== undefined);
  return found;
}

const cases: {
  readonly name: string;
  readonly given: (engine: FakeEngine) => void;
  readonly want: readonly string[];
}[] = [
  { name: "nothing", given: () => {}, want: [] },
  { name: "a host that is gone", given: (engine) => kill(engine, "a"), want: ["missing a"] },
  {
    name: "a host that can be changed back in place",
    given: (engine) => change(engine, "a", { tags: { by: "hand" } }),
    want: ['changed a inPlace tags {} -> {"by":"hand"}'],
  },
  {
    name: "a host that only a new one can follow",
    given: (engine) => change(engine, "cp", { size: "large" }),
    want: ['changed cp replace size "small" -> "large"'],
  },
  {
    name: "a grown disk: the way back is another than the way there",
    given: (engine) => change(engine, "a", { diskGib: 90 }),
    want: ["changed a replace diskGib 20 -> 90"],
  },
  {
    name: "a field that nobody set",
    given: (engine) => change(engine, "b", { taints: [] }),
    want: ["changed b inPlace taints undefined -> []"],
  },
  {
    name: "what machines share",
    given: (engine) => engine.cloud.drift(network(engine).id, { bootMs: 7 }),
    want: ["changed LocalNetwork inPlace bootMs 200 -> 7"],
  },
  {
    name: "what an apply that broke off has left",
    given: (engine) => {
      const { who } = hostOf(engine, "a");
      engine.cloud.plant({ ...who, name: "gone-0123abcd-0", token: "t" }, {});
    },
    want: ["extra LocalHost orphaned"],
  },
  {
    name: "an abandoned host of a machine that is known",
    given: (engine) => {
      const { who } = hostOf(engine, "a");
      engine.cloud.plant({ ...who, name: "a-0123abcd-0", token: "t" }, {});
    },
    want: ["extra a orphaned"],
  },
  {
    name: "a second one with the same identity",
    given: (engine) => {
      engine.cloud.plant(hostOf(engine, "a").who, {});
    },
    want: ["extra a duplicate"],
  },
  {
    name: "all of it at once, the worst first and in name order",
    given: (engine) => {
      change(engine, "b", { tags: { by: "hand" } });
      kill(engine, "c", "a");
    },
    want: ["missing a", "missing c", 'changed b inPlace tags {} -> {"by":"hand"}'],
  },
];

describe("drift of a cluster", () => {
  for (const { name, given, want } of cases) {
    it(name, async () => {
      const engine = await running(desiredWith());
      given(engine);
      const report = await reportOn(engine);
      assert.deepEqual(report.items.map(line), want);
      assert.deepEqual([report.recorded, report.members, report.workers], [6, 1, 3]);
      assert.equal(
        Object.values(driftCounts(report)).reduce((sum, count) => sum + count, 0),
        want.length,
      );
    });
  }

  it("a host that never will run", async () => {
    const engine = await running(desiredWith());
    const sight = await engine.sight();
    assert.ok("observedResources" in sight);
    const { who, id } = hostOf(engine, "a");
    const key = nodeKey(who.kind, who.name);
    const failure = { code: "QUOTA", reason: "no large\nhost is left" } as const;
    const failed = { ...hostOf(engine, "a"), phase: "failed" as const, failure };
    const observedResources = new Map(sight.observedResources).set(key, failed);
    const report = classifyDrift(engine.prior, { ...sight, observedResources }, engine.provider);
    assert.deepEqual(
      report.items.map((item) => [line(item), item.id]),
      [["failed a", id]],
    );
    assert.deepEqual(report.items.map(findingText), ["no large host is left"]);
  });

  it("nothing at all is known of a cloud that does not answer", async () => {
    const engine = await running(desiredWith());
    const report = await reportOn(engine, [{ at: "look", number: 0, what: "failForGood" }]);
    assert.match(report.unreadable ?? "", /^cannot look for the listing/);
    assert.deepEqual([...new Set(report.items.map((item) => item.class))], ["unknown"]);
    assert.equal(report.items.length, report.recorded);
  });

  it("one that cannot tell about a single resource is not believed about the others either", async () => {
    const engine = await running(desiredWith());
    kill(engine, "a");
    engine.cloud.kill(network(engine).id);
    engine.tamper((resources) =>
      resources.map((one) => (one.kind === "LocalNetwork" ? { ...one, id: "elsewhere" } : one)),
    );
    const report = await reportOn(engine, [{ at: "look", number: 1, what: "unknownForGood" }]);
    assert.equal(driftCounts(report).missing, 0);
    assert.equal(driftCounts(report).unknown, report.recorded);
  });

  it("a secret is never shown, only that it is another", async () => {
    const engine = await running(desiredWith());
    change(engine, "a", { tags: { password: "hunter2" } });
    engine.tamper((resources) => resources.map((one) => ({ ...one, secretInputs: ["spec"] })));
    const report = await reportOn(engine);
    assert.deepEqual(report.items.map(line), ['changed a inPlace spec "[secret]" -> "[secret]"']);
    const { fields } = report.items[0] as Extract<DriftItem, { class: "changed" }>;
    assert.doesNotMatch(JSON.stringify(fields), /hunter2/);
  });

  it("what a transaction left unfinished, or is to delete, is that transaction's business", async () => {
    const engine = await running(desiredWith());
    change(engine, "a", { tags: { by: "hand" } });
    kill(engine, "b", "c");
    const { who } = hostOf(engine, "a");
    const keyOf = (name: string) =>
      engine.prior.resources.find((one) => one.name.startsWith(`${name}-`) && one.id)?.key;
    const pending = keyOf("b");
    assert.ok(pending !== undefined);
    engine.tamper((resources) => [
      ...resources.map((one) => (one.name === who.name ? { ...one, unfinished: true } : one)),
      ...resources
        .filter((one) => one.key === keyOf("a"))
        .map((one) => ({ ...one, name: "old-1", key: nodeKey(one.kind, "old-1"), id: "old" })),
    ]);
    const operation = { type: "updating", urn: "urn", key: pending, kind: who.kind, inputs: {} };
    engine.leavePending(operation);
    assert.deepEqual((await reportOn(engine)).items.map(line), ["missing c"]);
  });

  it("is found also where the record was read again and nothing corrected: what was committed counts", async () => {
    const engine = await running(desiredWith());
    change(engine, "a", { tags: { by: "hand" } });
    const { who, spec } = hostOf(engine, "a");
    engine.tamper((resources) =>
      resources.map((one) =>
        one.name === who.name ? { ...one, outputs: { ...one.outputs, spec } } : one,
      ),
    );
    const report = await reportOn(engine);
    assert.deepEqual(report.items.map(line), ['changed a inPlace tags {} -> {"by":"hand"}']);
    assert.equal((await engine.plan(desiredWith())).steps.length, 1);
  });

  it("nothing is recorded of a cluster that does not exist: there is nothing to drift", () => {
    const sight = { observedResources: new Map(), unrecorded: [], listed: 0 };
    const report = classifyDrift({ resources: [], pending: [] }, sight, localProvider());
    assert.deepEqual([report.cluster, report.recorded, report.items], ["", 0, []]);
  });
});

describe("the fingerprint of a report", () => {
  const printOf = async (given: (engine: FakeEngine) => void) => {
    const engine = await running(desiredWith());
    given(engine);
    return (await reportOn(engine)).fingerprint;
  };

  it("is that of its findings: the same for the same, in every cluster and at every time", async () => {
    const one = await printOf((engine) => kill(engine, "a"));
    const other = await printOf((engine) => {
      engine.clock.advance(60_000);
      kill(engine, "a");
    });
    assert.equal(one, other);
    assert.match(one, /^[0-9a-f]{12}$/);
  });

  it("differs for another resource, another value, and for nothing", async () => {
    const prints = await Promise.all([
      printOf(() => {}),
      printOf((engine) => kill(engine, "a")),
      printOf((engine) => kill(engine, "b")),
      printOf((engine) => change(engine, "a", { tags: { by: "hand" } })),
      printOf((engine) => change(engine, "a", { tags: { by: "foot" } })),
    ]);
    assert.equal(new Set(prints).size, prints.length);
  });
});
