import assert from "node:assert/strict";
import { isCapstanError } from "../../src/api/error.js";
import { planNotes } from "../../src/plan/changes/notes.js";
import { planSummary } from "../../src/plan/changes/tree.js";
import { undoText } from "../../src/plan/undo/undo-text.js";
import { planForget } from "../../src/engine/operations/forget.js";
import type { CommandFault } from "../support/faults.js";
import { type CommandOutcome, FakeEngine, outcomeText } from "../support/fake-engine.js";
import {
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  type Manifest,
} from "../support/manifests.js";

function wanted(...objects: Manifest[]) {
  return desiredOf([cluster(), machine("cp", { controlPlane: "1.34.2" }), ...objects]);
}

const both = wanted(machine("db"), machineDeployment("web", 2));

function mustBeDone(outcome: CommandOutcome): void {
  assert.equal(outcome.kind, "done", outcomeText(outcome));
}

/** The id of the host that serves a machine. */
function hostOf(engine: FakeEngine, name: string): string {
  const target = engine.prior.transaction?.target;
  const host = target?.machines.find((one) => one.name === name)?.host;
  return engine.prior.resources.find(({ key }) => key === host)?.id ?? "";
}

function phaseOf(engine: FakeEngine, id: string): string | undefined {
  return engine.cloud.get(id)?.phase;
}

function isOurs(engine: FakeEngine, id: string): boolean {
  return engine.alive().some((one) => one.id === id);
}

function planOf(engine: FakeEngine, name: string) {
  const { provider, clock } = engine;
  const stop = new AbortController().signal;
  return planForget(
    name,
    { ...engine.prior, foreign: [] },
    { provider, clock, stop, by: "user@host", deadlineMs: 1_000, removal: {} },
  );
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "",
    (error: unknown) => (isCapstanError(error) ? error.code : String(error)),
  );
}

describe("a machine that is forgotten", () => {
  it("keeps what lives with its host, which is nobody's too, however it is killed", async () => {
    const volume = { dataVolume: { gib: 1 } };
    for (const at of [undefined, 0, 1]) {
      const engine = await FakeEngine.running(wanted(machine("db", volume)));
      const own = engine.prior.resources.find(({ kind }) => kind === "LocalVolume")?.id ?? "";
      const host = hostOf(engine, "db");
      const faults: CommandFault[] =
        at === undefined ? [] : [{ at: "call", number: at, what: "killAfter" }];
      await engine.forget("db", faults);
      mustBeDone(await engine.up(wanted()));
      assert.deepEqual([isOurs(engine, own), isOurs(engine, host)], [false, false]);
      assert.deepEqual([phaseOf(engine, own), phaseOf(engine, host)], ["ready", "ready"]);
    }
  });

  it("is shown as that, and not as a deletion", async () => {
    const engine = await FakeEngine.running(both);
    const { plan } = await planOf(engine, "db");
    assert.equal(planSummary(plan), "Plan: 1 to forget; 1 wave");
    assert.deepEqual(
      plan.machines.flatMap(({ machine: name, kind }) => (kind === "same" ? [] : [[name, kind]])),
      [["db", "forget"]],
    );
    assert.match(undoText(plan), /until the commit; then 1 resource is nobody's, for ever$/);
    const notes = planNotes(plan).join();
    assert.match(notes, /as long as the manifests hold Machine db/);
    assert.match(
      notes,
      /host of Machine db may go on using .*\(LocalNetwork network.*\): a destroy/,
    );
    const { summary } = plan.transaction;
    assert.deepEqual([summary.delete, summary.forget], [0, 1]);
  });

  it("runs on without marks, in no record and nobody's", async () => {
    const engine = await FakeEngine.running(both);
    const id = hostOf(engine, "db");
    mustBeDone(await engine.forget("db"));
    assert.deepEqual([phaseOf(engine, id), isOurs(engine, id)], ["ready", false]);
    assert.equal(
      engine.prior.resources.some((one) => one.id === id),
      false,
    );
    const without = wanted(machineDeployment("web", 2));
    assert.equal((await engine.plan(without)).empty, true);
    await engine.destroy();
    assert.equal(phaseOf(engine, id), "ready");
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("is made anew by an up that still wants it, beside the one that was let go", async () => {
    const engine = await FakeEngine.running(both);
    const id = hostOf(engine, "db");
    mustBeDone(await engine.forget("db"));
    mustBeDone(await engine.up(both));
    assert.notEqual(hostOf(engine, "db"), id);
    assert.equal(phaseOf(engine, id), "ready");
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("is made anew by a rollback to before, which takes nothing back to itself", async () => {
    const engine = await FakeEngine.running(both);
    const id = hostOf(engine, "db");
    mustBeDone(await engine.forget("db"));
    mustBeDone(await engine.rollback([], 1));
    assert.notEqual(hostOf(engine, "db"), id);
    assert.deepEqual([phaseOf(engine, id), isOurs(engine, id)], ["ready", false]);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("of a deployment leaves a place that is told of", async () => {
    const engine = await FakeEngine.running(both);
    const name = engine.prior.transaction?.target.machines.at(-1)?.name ?? "";
    const { plan } = await planOf(engine, name);
    assert.match(
      planNotes(plan).join(),
      /MachineDeployment web asks for 2 machines and keeps 1: the next up makes another/,
    );
  });

  it("is refused where it is all of the control plane, and where something is under way", async () => {
    const engine = await FakeEngine.running(both);
    assert.equal(await codeOf(planOf(engine, "cp")), "PROTECTED");
    await engine.up(wanted(machine("db", { size: "large" }), machineDeployment("web", 2)), [
      { at: "call", number: 0, what: "killBefore" },
    ]);
    assert.equal(await codeOf(planOf(engine, "db")), "TRANSACTION_OPEN");
  });

  it("is refused by a provider that cannot take marks off", async () => {
    const engine = await FakeEngine.running(both);
    const handlers = [...engine.provider.handlers].map(
      ([kind, { disown: _none, ...handler }]) => [kind, handler] as const,
    );
    const provider = { ...engine.provider, handlers: new Map(handlers) };
    const planned = planForget(
      "db",
      { ...engine.prior, foreign: [] },
      {
        provider,
        clock: engine.clock,
        stop: new AbortController().signal,
        by: "user@host",
        deadlineMs: 1_000,
        removal: {},
      },
    );
    assert.equal(await codeOf(planned), "UNSUPPORTED_CHANGE");
  });
});

describe("forgetting that goes wrong", () => {
  it("keeps a destroy from deleting anything until it is finished or taken back", async () => {
    const engine = await FakeEngine.running(both);
    await engine.forget("db", [{ at: "write", number: 1, what: "killAfter" }]);
    const alive = engine.alive().length;
    assert.match(outcomeText(await engine.destroy()), /^broke: TRANSACTION_OPEN/);
    assert.equal(engine.alive().length, alive);
    assert.equal((await engine.rollback()).kind, "rolledBack");
    mustBeDone(await engine.destroy());
    assert.deepEqual(engine.alive(), []);
  });

  const faults: readonly CommandFault[] = [
    ...[0, 1, 2, 3, 4, 5, 6, 7].flatMap((number) =>
      (["killBefore", "killAfter"] as const).map((what) => ({
        at: "write" as const,
        number,
        what,
      })),
    ),
    ...(["killBefore", "killAfter", "killLate", "loseAnswer", "failForGood"] as const).map(
      (what) => ({ at: "call" as const, number: 0, what }),
    ),
  ];
  const waysOn = {
    "forget again": (engine: FakeEngine) => engine.forget("db"),
    "up without it": (engine: FakeEngine) => engine.up(wanted(machineDeployment("web", 2))),
    "up with it": (engine: FakeEngine) => engine.up(both),
    rollback: (engine: FakeEngine) => engine.rollback(),
    destroy: (engine: FakeEngine) => engine.destroy(),
  };
  for (const [name, way] of Object.entries(waysOn)) {
    it(`never deletes the host once it is committed: ${name}`, async () => {
      for (const fault of faults) {
        const engine = await FakeEngine.running(both);
        const id = hostOf(engine, "db");
        await engine.forget("db", [fault]);
        const { transaction, revision } = engine.prior;
        const isCommitted = transaction?.goal.kind === "forget" && revision?.number === 2;
        engine.clock.advance(5_000);
        const isLeft = isOurs(engine, id);
        await way(engine);
        const about = `${JSON.stringify(fault)}, committed: ${isCommitted}`;
        if (isCommitted || !isLeft) assert.equal(phaseOf(engine, id), "ready", about);
        if (name === "rollback") assert.equal(phaseOf(engine, id), "ready", about);
        assert.deepEqual(engine.cloud.watch.violations, [], about);
        if (name === "destroy") continue;
        const end = name === "forget again" ? wanted(machineDeployment("web", 2)) : both;
        mustBeDone(await engine.up(end));
        assert.equal((await engine.plan(end)).empty, true, about);
        assert.deepEqual(engine.cloud.watch.violations, [], about);
      }
    }).timeout(60_000);
  }
});
