import assert from "node:assert/strict";
import { isCapstanError } from "../../src/api/error.js";
import { type JsonObject, sameJson } from "../../src/api/json.js";
import type { Identity } from "../../src/provider/port.js";
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

const nobody: Identity = { cluster: "", clusterUid: "", kind: "", name: "", token: "" };

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
        const isBegun = engine.prior.transaction?.goal.kind === "import";
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
        if (name === "up" && isBegun) {
          mustBeDone(outcome, about);
          assert.equal(recordedHost(engine, "db"), id, about);
          assert.deepEqual(made, [], about);
        }
        const isTakenBack = name === "up without it" && !isCommitted;
        if (name === "rollback" || isTakenBack) assert.equal(isOurs(engine, id), false, about);
      }
    }).timeout(60_000);
  }
});

/** What it is refused with, in its words. */
async function refusalOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "",
    (error: unknown) => (isCapstanError(error) ? `${error.code} ${error.message}` : String(error)),
  );
}

describe("an import that is refused", () => {
  const planted = (engine: FakeEngine, spec: JsonObject, who: Identity = nobody) => {
    const like = engine.hosts().find((one) => one.who.name.startsWith("web"))?.spec ?? {};
    return engine.cloud.plant(who, { ...like, ...spec }).id;
  };
  const other = { ...nobody, cluster: "default/other", clusterUid: "uid-9", name: "x", token: "t" };

  interface Refused {
    readonly name: string;
    plan(engine: FakeEngine, id: string): Promise<unknown>;
    readonly want: RegExp;
  }
  const refused: readonly Refused[] = [
    {
      name: "a host that there is none of",
      plan: (engine) => planOf(engine, "LocalHost-99"),
      want: /^NOT_FOUND cannot import LocalHost-99 as Machine db: the cloud has no LocalHost of that id$/,
    },
    {
      name: "a host that is terminated",
      plan: (engine, id) => {
        engine.cloud.kill(id);
        return planOf(engine, id);
      },
      want: /^RESOURCE_GONE .*: it is terminated$/,
    },
    {
      name: "a host of another cluster",
      plan: (engine) => planOf(engine, planted(engine, {}, other)),
      want: /^NOT_OURS .*: it is marked as default\/other x \(cluster UID uid-9\)$/,
    },
    {
      name: "a host that is recorded",
      plan: (engine) => planOf(engine, recordedHost(engine, "cp")),
      want: /^INVALID_INPUT .*: it is recorded already, as LocalHost\/cp-/,
    },
    {
      name: "a Machine that has a host",
      plan: (engine, id) => planOf(engine, id, withDb, "cp"),
      want: /^INVALID_INPUT .*: it has a host already, LocalHost\/cp-/,
    },
    {
      name: "a Machine of a set",
      plan: (engine, id) => {
        const { target } = engine.prior.transaction!;
        const name = target.machines.find(({ owner }) => owner !== undefined)?.name;
        return planOf(engine, id, withDb, name);
      },
      want: /^INVALID_INPUT .*: it is a machine of MachineDeployment web, which makes its hosts itself$/,
    },
    {
      name: "a Machine that the manifests do not hold",
      plan: (engine, id) => planOf(engine, id, withDb, "db2"),
      want: /^NOT_FOUND .*: the manifests hold no Machine db2$/,
    },
    {
      name: "a control-plane member",
      plan: (engine, id) => planOf(engine, id, wanted(machine("db", { controlPlane: "1.34.2" }))),
      want: /^INVALID_INPUT .*: it is a control-plane member, and what etcd stores/,
    },
    {
      name: "every field that only another host could have",
      plan: (engine) =>
        planOf(engine, planted(engine, { size: "large", zone: "local-b", tags: { a: "b" } })),
      want: /^UNSUPPORTED_CHANGE cannot import Machine db: size of \S+ is large, and the manifests say small \(.+\)\ncannot import Machine db: zone of \S+ is local-b, and the manifests say local-a \(.+\)$/,
    },
    {
      name: "a host of another network",
      plan: (engine) => planOf(engine, planted(engine, { networkId: "LocalNetwork-9" })),
      want: /^UNSUPPORTED_CHANGE cannot import Machine db: networkId of \S+ is LocalNetwork-9, and the manifests say LocalNetwork-1 /,
    },
    {
      name: "anything while something else is open",
      plan: async (engine, id) => {
        await engine.up(wanted(machine("c")), [{ at: "call", number: 0, what: "killBefore" }]);
        return planOf(engine, id);
      },
      want: /^TRANSACTION_OPEN .*transaction 2 of default.prod is not finished$/,
    },
    {
      name: "another host while an import is open",
      plan: async (engine, id) => {
        await engine.import("db", id, withDb, [{ at: "call", number: 0, what: "killBefore" }]);
        return planOf(engine, planted(engine, {}));
      },
      want: /^TRANSACTION_OPEN /,
    },
    {
      name: "all of a provider that cannot mark",
      plan: (engine, id) => {
        const handlers = [...engine.provider.handlers].map(
          ([kind, { mark: _none, ...handler }]) => [kind, handler] as const,
        );
        engine.provider = { ...engine.provider, handlers: new Map(handlers) };
        return planOf(engine, id);
      },
      want: /^UNSUPPORTED_CHANGE .*: provider local cannot put our marks on a host that is there$/,
    },
  ];
  for (const { name, plan, want } of refused) {
    it(name, async () => {
      const { engine, id } = await withStray();
      const since = engine.calls.length;
      assert.match(await refusalOf(plan(engine, id)), want);
      assert.deepEqual(
        engine.calls.slice(since).filter(({ call }) => call === "import"),
        [],
      );
    });
  }

  it("a cluster that there is not", async () => {
    assert.match(
      await refusalOf(planOf(new FakeEngine(), "LocalHost-1")),
      /^NOT_FOUND .*: default.prod has no revision yet/,
    );
  });
});

describe("an imported host", () => {
  it("follows the manifests in place with the next up, and was recorded as it is", async () => {
    const { engine } = await withStray();
    const spec = engine.hosts().find(({ who }) => who.name.startsWith("web"))?.spec ?? {};
    const { id } = engine.cloud.plant(nobody, { ...spec, tags: { by: "hand" }, kubelet: "1.34.1" });
    const { later } = await planOf(engine, id);
    assert.deepEqual(later.map(({ path }) => path).sort(), ["kubelet", "tags"]);
    mustBeDone(await engine.import("db", id, withDb));
    assert.deepEqual(engine.cloud.get(id)?.spec, {
      ...spec,
      tags: { by: "hand" },
      kubelet: "1.34.1",
    });
    mustBeDone(await engine.up(withDb));
    assert.deepEqual(engine.cloud.get(id)?.spec, spec);
    assert.equal(recordedHost(engine, "db"), id);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("is let go by a rollback to before it, and not by what asks for its end", async () => {
    const { engine, id } = await withStray();
    mustBeDone(await engine.import("db", id, withDb));
    mustBeDone(await engine.up(wanted(machine("db", { tags: { a: "b" } }))));
    mustBeDone(await engine.rollback([], 1));
    assert.deepEqual([engine.cloud.get(id)?.phase, isOurs(engine, id)], ["ready", false]);
    mustBeDone(await engine.import("db", id, withDb));
    assert.match(engine.cloud.get(id)?.who.name ?? "", /-2$/);
    mustBeDone(await engine.up(without));
    assert.equal(engine.cloud.get(id)?.phase, "gone");
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("is imported by the same words once, and then they change nothing", async () => {
    const { engine, id } = await withStray();
    mustBeDone(await engine.import("db", id, withDb));
    assert.equal((await planOf(engine, id)).plan.empty, true);
  });
});
