import assert from "node:assert/strict";
import type { CommandFault } from "../support/faults.js";
import { plainWorld, type WorldTraits } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { desiredCluster, type WantedCluster } from "../support/wanted-cluster.js";

const sized = (size: string, names: readonly string[] = ["cp-0"]): WantedCluster => ({
  cluster: { cidr: "10.0.0.0/16" },
  machines: Object.fromEntries(
    names.map((name) => [name, { tags: {}, size, resizable: true, controlPlane: "1.34.2" }]),
  ),
  sets: {},
  deployments: {},
});
const small = sized("small");
const large = sized("large");
const three = ["cp-0", "cp-1", "cp-2"];

/** Where a change of one host can be cut off: before and after each of its calls, and each write of the state. */
const cuts: readonly CommandFault[] = [
  ...[0, 1, 2].flatMap((number) =>
    (["killBefore", "killAfter", "killLate", "interrupt", "failForGood"] as const).map(
      (what): CommandFault => ({ at: "call", number, what }),
    ),
  ),
  ...Array.from({ length: 12 }, (_, number): CommandFault => ({
    at: "write",
    number,
    what: "killAfter",
  })),
];

const kills = cuts.filter(({ at, what }) => at === "call" && what.startsWith("kill"));

const cutText = ({ at, number, what }: CommandFault) => `${what} at ${at} ${number}`;

/** One control plane whose change of size was cut off, once or twice. */
async function cutOff(
  faults: readonly CommandFault[],
  {
    traits = plainWorld,
    isRefreshed = false,
  }: { readonly traits?: WorldTraits; readonly isRefreshed?: boolean } = {},
): Promise<FakeEngine> {
  const engine = await FakeEngine.running(desiredCluster(small), { traits });
  for (const fault of faults) {
    await engine.up(desiredCluster(large), [fault], "keep");
    engine.clock.advance(5_000);
    if (isRefreshed) await engine.refresh();
  }
  return engine;
}

function mustHaveKept(engine: FakeEngine, ids: readonly string[], size: string): void {
  const hosts = engine.hosts();
  assert.deepEqual(
    hosts.map(({ id, phase, spec }) => [id, phase, spec["size"]]),
    ids.map((id) => [id, "ready", size]),
  );
  assert.deepEqual(engine.cloud.watch.violations, []);
}

describe("a change that stops, changes and starts a host, cut off between", () => {
  const ways = {
    "the same again": {
      size: "large",
      go: (engine: FakeEngine) => engine.up(desiredCluster(large)),
    },
    "what was before": {
      size: "small",
      go: (engine: FakeEngine) => engine.up(desiredCluster(small)),
    },
    "a third size": {
      size: "medium",
      go: (engine: FakeEngine) => engine.up(desiredCluster(sized("medium"))),
    },
    rollback: { size: "small", go: (engine: FakeEngine) => engine.rollback() },
  } as const;

  for (const [way, { size, go }] of Object.entries(ways)) {
    for (const isRefreshed of [false, true]) {
      const what = isRefreshed ? `${way}, after a plain pulumi refresh` : way;
      it(`goes on where it was, on the same host: ${what}`, async () => {
        for (const cut of cuts) {
          const engine = await cutOff([cut], { isRefreshed });
          const [host] = engine.hosts();
          const outcome = await go(engine);
          const isOpen = outcome.kind !== "broke";
          assert.ok(
            ["done", "rolledBack", "broke"].includes(outcome.kind),
            `${cutText(cut)}: ${outcomeText(outcome)}`,
          );
          // Nothing to take back: it was never begun, or was committed.
          if (way === "rollback" && (!isOpen || outcome.kind === "done")) continue;
          assert.doesNotThrow(() => mustHaveKept(engine, [host?.id ?? ""], size), cutText(cut));
        }
      });
    }
  }

  it("is taken back by the command that failed in it, on the same host", async () => {
    for (const number of [0, 1, 2]) {
      const engine = await FakeEngine.running(desiredCluster(small));
      const [host] = engine.hosts();
      const outcome = await engine.up(desiredCluster(large), [
        { at: "call", number, what: "fail" },
      ]);
      assert.equal(outcome.kind, "rolledBack", outcomeText(outcome));
      mustHaveKept(engine, [host?.id ?? ""], "small");
    }
  });

  it("is gone on with when the way back of it was cut off as well", async () => {
    for (const first of kills) {
      for (const second of kills) {
        const engine = await cutOff([first]);
        const [host] = engine.hosts();
        await engine.rollback([second]);
        engine.clock.advance(5_000);
        const outcome = await engine.up(desiredCluster(large));
        assert.equal(
          outcome.kind,
          "done",
          `${cutText(first)}, ${cutText(second)}: ${outcomeText(outcome)}`,
        );
        mustHaveKept(engine, [host?.id ?? ""], "large");
      }
    }
  });

  it("of one of three members is gone on with before another one is touched", async () => {
    for (const cut of cuts.slice(0, 15)) {
      const traits = { ...plainWorld, joins: true };
      const engine = await FakeEngine.running(desiredCluster(sized("small", three)), { traits });
      const ids = engine.hosts().map(({ id }) => id);
      await engine.up(desiredCluster(sized("large", three)), [cut], "keep");
      engine.clock.advance(5_000);
      const outcome = await engine.up(desiredCluster(sized("large", three)));
      assert.equal(outcome.kind, "done", `${cutText(cut)}: ${outcomeText(outcome)}`);
      mustHaveKept(engine, ids, "large");
    }
  });

  it("is gone on with where it was to correct drift that has come while its transaction was open", async () => {
    const sizes = (size: string): WantedCluster => {
      const { machines, ...rest } = small;
      return { ...rest, machines: { ...machines, db: { size, resizable: true } } };
    };
    const engine = await FakeEngine.running(desiredCluster(sizes("small")));
    const ids = engine.hosts().map(({ id }) => id);
    const wanted = desiredCluster(sizes("medium"));
    await engine.up(wanted, [{ at: "call", number: 0, what: "killBefore" }]);
    engine.clock.advance(5_000);
    engine.cloud.drift(ids[0] ?? "", { size: "large" });
    await engine.up(wanted, [{ at: "call", number: 0, what: "killAfter" }]);
    assert.deepEqual([...engine.cloud.halfChanged], [ids[0]]);
    engine.clock.advance(5_000);
    const outcome = await engine.up(wanted);
    assert.equal(outcome.kind, "done", outcomeText(outcome));
    assert.deepEqual(
      engine.hosts().map(({ id }) => id),
      ids,
    );
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("leaves a host to be replaced that fails by itself once its change is done", async () => {
    const engine = await FakeEngine.running(desiredCluster(small));
    const [host] = engine.hosts();
    const outcome = await engine.up(
      desiredCluster(large),
      [{ at: "boot", number: 0, what: "fails" }],
      "keep",
    );
    assert.equal(outcome.kind, "stopped", outcomeText(outcome));
    const again = await engine.up(desiredCluster(large));
    assert.equal(again.kind, "done", outcomeText(again));
    assert.notEqual(engine.hosts()[0]?.id, host?.id);
  });
});
