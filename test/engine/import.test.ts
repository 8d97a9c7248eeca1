import assert from "node:assert/strict";
import { isCapstanError } from "../../src/api/error.js";
import { sameJson } from "../../src/api/json.js";
import { planImport } from "../../src/engine/operations/import.js";
import { planSummary } from "../../src/plan/changes/tree.js";
import { undoText } from "../../src/plan/undo/undo-text.js";
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
  return desiredOf([
    cluster(),
    machine("cp", { controlPlane: "1.34.2" }),
    machineDeployment("web", 1),
    ...objects,
  ]);
}

const without = wanted();
const withDb = wanted(machine("db"));

function mustBeDone(outcome: CommandOutcome, about = ""): void {
  assert.equal(outcome.kind, "done", `${about}: ${outcomeText(outcome)}`);
}

function recordedHost(engine: FakeEngine, name: string): string {
  const target = engine.prior.transaction?.target;
  const host = target?.machines.find((one) => one.name === name)?.host;
  return engine.prior.resources.find(({ key }) => key === host)?.id ?? "";
}

const nobody = { cluster: "", clusterUid: "", kind: "", name: "", token: "" };

/** A cluster without db, and a host beside it that nobody of ours has made. */
async function withStray(): Promise<{ engine: FakeEngine; id: string }> {
  const engine = await FakeEngine.running(without);
  const spec = engine.hosts().find(({ who }) => who.name.startsWith("web"))?.spec ?? {};
  return { engine, id: engine.cloud.plant(nobody, spec).id };
}

function isOurs(engine: FakeEngine, id: string): boolean {
  return engine.alive().some((one) => one.id === id);
}

function planOf(engine: FakeEngine, id: string, desired = withDb, name = "db") {
  const { provider, clock } = engine;
  const stop = new AbortController().signal;
  return planImport(
    { machine: name, id, desired, positionOf: () => undefined },
    { ...engine.prior, foreign: [] },
    { provider, clock, stop, by: "user@host", deadlineMs: 1_000 },
  );
}

describe("a host that is imported", () => {
  it("is shown as that, and not as a creation", async () => {
    const { engine, id } = await withStray();
    const { plan, later } = await planOf(engine, id);
    assert.equal(planSummary(plan), "Plan: 1 to import; 1 wave");
    assert.deepEqual(
      plan.machines.flatMap(({ machine: name, kind }) => (kind === "same" ? [] : [[name, kind]])),
      [["db", "import"]],
    );
    assert.deepEqual(later, []);
    assert.match(undoText(plan), /marks can be taken off again until the commit/);
  });

  it("gets our marks and a record, and is as any other host from then on", async () => {
    const { engine, id } = await withStray();
    const before = engine.cloud.get(id)?.spec;
    const since = engine.calls.length;
    mustBeDone(await engine.import("db", id, withDb));
    assert.deepEqual(
      engine.calls.slice(since).map((one) => [one.call, one.id]),
      [["import", id]],
    );
    assert.equal(recordedHost(engine, "db"), id);
    assert.deepEqual(engine.cloud.get(id)?.spec, before);
    assert.equal((await engine.plan(withDb)).empty, true);
    mustBeDone(await engine.up(without));
    assert.equal(engine.cloud.get(id)?.phase, "gone");
    assert.deepEqual(engine.cloud.watch.violations, []);
  });
});

describe("an import that goes wrong", () => {
  const faults: readonly CommandFault[] = [
    ...[0, 1, 2, 3, 4, 5, 6, 7, 8, 9].flatMap((number) =>
      (["killBefore", "killAfter"] as const).map((what) => ({
        at: "write" as const,
        number,
        what,
      })),
    ),
    ...(
      ["killBefore", "killAfter", "killLate", "loseAnswer", "throttle", "failForGood"] as const
    ).map((what) => ({ at: "call" as const, number: 0, what })),
  ];
  const waysOn = {
    "import again": (engine: FakeEngine, id: string) => engine.import("db", id, withDb),
    up: (engine: FakeEngine) => engine.up(withDb),
    "up without it": (engine: FakeEngine) => engine.up(without),
    rollback: (engine: FakeEngine) => engine.rollback(),
    destroy: (engine: FakeEngine) => engine.destroy(),
  };
  for (const [name, way] of Object.entries(waysOn)) {
    it(`neither makes nor deletes a host: ${name}`, async () => {
      for (const fault of faults) {
        const { engine, id } = await withStray();
        const before = engine.cloud.get(id)?.spec ?? {};
        const revision = engine.prior.revision?.number ?? 0;
        const since = engine.calls.length;
        await engine.import("db", id, withDb, [fault]);
        const isCommitted = (engine.prior.revision?.number ?? 0) > revision && isOurs(engine, id);
        engine.clock.advance(5_000);
        const outcome = await way(engine, id);
        const about = `${JSON.stringify(fault)}, committed: ${isCommitted}, ${outcomeText(outcome)}`;
        if (!(isCommitted && ["up without it", "destroy"].includes(name))) {
          assert.equal(engine.cloud.get(id)?.phase, "ready", about);
          assert.ok(sameJson(engine.cloud.get(id)?.spec ?? {}, before), about);
        }
        assert.deepEqual(engine.cloud.watch.violations, [], about);
        const made = engine.calls.slice(since).filter(({ call }) => call === "create");
        assert.deepEqual(
          name === "up" ? made.filter(({ id: one }) => one === id) : made,
          [],
          about,
        );
        if (name === "import again") {
          mustBeDone(outcome, about);
          assert.equal(recordedHost(engine, "db"), id, about);
        }
        if (name === "rollback") assert.equal(isOurs(engine, id), false, about);
      }
    }).timeout(60_000);
  }
});

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "",
    (error: unknown) => (isCapstanError(error) ? error.code : String(error)),
  );
}

describe("an import that is refused", () => {
  it("says so for what is not there", async () => {
    const { engine } = await withStray();
    assert.equal(await codeOf(planOf(engine, "LocalHost-99")), "NOT_FOUND");
  });
});
