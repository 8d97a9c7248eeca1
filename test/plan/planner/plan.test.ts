import assert from "node:assert/strict";
import { isCapstanError } from "../../../src/api/error.js";
import { sameJson, type JsonObject } from "../../../src/api/json.js";
import { planRecorded } from "../../../src/engine/operations/apply.js";
import { planSummary } from "../../../src/plan/changes/tree.js";
import type { Plan } from "../../../src/plan/plan.js";
import type { InfrastructureProvider } from "../../../src/provider/port.js";
import {
  cluster,
  desiredOf,
  localProvider,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../../support/manifests.js";
import type { CommandFault } from "../../support/faults.js";
import { FakeEngine } from "../../support/fake-engine.js";

/** An engine that has brought the objects about. */
function running(...objects: Manifest[]): Promise<FakeEngine> {
  return FakeEngine.running(desiredOf([cluster(), ...objects]));
}

function plan(engine: FakeEngine, ...objects: Manifest[]): Promise<Plan> {
  return engine.plan(desiredOf([cluster(), ...objects]));
}

/** A command that is killed before its n-th call that changes the cloud, or right after it. */
function killedAt(
  number: number,
  what: "killBefore" | "killAfter" = "killBefore",
): readonly CommandFault[] {
  return [{ at: "call", number, what }];
}

/** "create LocalHost/cp-0-#-1": hashes are left out, so that cases read well. */
function stepsOf({ steps }: Plan): string[] {
  return steps.map(({ kind, key }) => `${kind} ${withoutHash(key)}`);
}

function withoutHash(text: string): string {
  return text.replace(/-[0-9a-f]{8}(?=-|$)/g, "-#");
}

function hostOf(engine: FakeEngine, machineName: string): string {
  const host = engine.hosts().findLast(({ who }) => who.name.startsWith(`${machineName}-`));
  assert.ok(host !== undefined, `${machineName} has a host`);
  return host.id;
}

describe("the plan of a first creation", () => {
  let first: Plan;
  before(async () => {
    first = await plan(new FakeEngine(), machine("web"), machine("cp", { controlPlane: "1.34.2" }));
  });

  it("creates in dependency order, workers after the control plane", () => {
    assert.deepEqual(stepsOf(first), [
      "create LocalNetwork/network",
      "create LocalLoadBalancer/api",
      "create LocalHost/cp-#-1",
      "create LocalHost/web-#-1",
    ]);
  });

  it("begins transaction 1 with a new cluster UID, the time, and every host counted as spent", () => {
    const { number, clusterUid, owner, startedAtMs, spent } = first.transaction;
    assert.deepEqual([number, clusterUid, owner, startedAtMs], [1, "uid-1", "files", 1_000]);
    assert.deepEqual(Object.values(spent), [1, 1]);
    assert.deepEqual([first.fromRevision, first.open, first.empty], [0, undefined, false]);
  });

  it("makes each host a child of its Machine, and workers depend on control-plane hosts", () => {
    const host = first.target.nodes.find(({ name }) => /^web-.+-1$/.test(name));
    const controlPlane = first.target.machines.find(({ name }) => name === "cp")?.host;
    assert.equal(host?.parent, "Machine/web");
    assert.deepEqual(host?.dependsOn, [controlPlane]);
  });

  it("of nothing but a Cluster still makes its network", async () => {
    assert.deepEqual(stepsOf(await plan(new FakeEngine())), [
      "create LocalNetwork/network",
      "create LocalLoadBalancer/api",
    ]);
  });
});

describe("the plan of a running cluster", () => {
  const before = [
    machine("cp", { controlPlane: "1.34.2" }),
    machine("web", { diskGib: 20, tags: { a: "1" } }),
    machineSet("db", 2, { size: "medium" }),
  ];
  const cases: { name: string; given: Manifest[]; want: string[] }[] = [
    { name: "nothing changed", given: before, want: [] },
    {
      name: "tags: in place",
      given: [
        machine("cp", { controlPlane: "1.34.2" }),
        machine("web", { tags: { a: "2" } }),
        before[2]!,
      ],
      want: ["update LocalHost/web-#-1"],
    },
    {
      name: "a larger disk: in place",
      given: [before[0]!, machine("web", { diskGib: 40, tags: { a: "1" } }), before[2]!],
      want: ["update LocalHost/web-#-1"],
    },
    {
      name: "a smaller disk: the same generation, next incarnation",
      given: [before[0]!, machine("web", { diskGib: 10, tags: { a: "1" } }), before[2]!],
      want: ["create LocalHost/web-#-2", "delete LocalHost/web-#-1"],
    },
    {
      name: "another size: a new generation, then the old host goes",
      given: [before[0]!, machine("web", { size: "large", tags: { a: "1" } }), before[2]!],
      want: ["create LocalHost/web-#-1", "delete LocalHost/web-#-1"],
    },
    {
      name: "control-plane version: in place",
      given: [machine("cp", { controlPlane: "1.35.0" }), before[1]!, before[2]!],
      want: ["update LocalHost/cp-#-1"],
    },
    {
      name: "a machine removed",
      given: [before[0]!, before[2]!],
      want: ["delete LocalHost/web-#-1"],
    },
    {
      name: "a machine added",
      given: [...before, machine("extra")],
      want: ["create LocalHost/extra-#-1"],
    },
    {
      name: "a set scaled down: the highest ordinal goes",
      given: [before[0]!, before[1]!, machineSet("db", 1, { size: "medium" })],
      want: ["delete LocalHost/db-1-#-1"],
    },
    {
      name: "a set's template changed: nothing happens to its machines",
      given: [before[0]!, before[1]!, machineSet("db", 2, { size: "large" })],
      want: [],
    },
  ];
  for (const { name, given, want } of cases) {
    it(name, async () =>
      assert.deepEqual(stepsOf(await plan(await running(...before), ...given)), want),
    );
  }

  it("is empty only when nothing changed, and then keeps number and time", async () => {
    const engine = await running(...before);
    const same = await plan(engine, ...before);
    assert.deepEqual([same.empty, same.transaction.number], [true, 1]);
    assert.equal(same.transaction.startedAtMs, 1_000, "the time of transaction 1, not of now");
    assert.equal(same.fromRevision, 1);
  });

  it("records changed objects although no resource changes", async () => {
    const changed = await plan(
      await running(...before),
      before[0]!,
      before[1]!,
      machineSet("db", 2, { size: "large" }),
    );
    assert.deepEqual([changed.empty, changed.steps, changed.transaction.number], [false, [], 2]);
  });

  it("says so when there is only an entry to clear that a killed command has left", async () => {
    const engine = await running(...before);
    const { urn, key, kind } = engine.prior.resources.find(({ kind }) => kind === "Transaction")!;
    engine.leavePending({ type: "updating", urn, key, kind, inputs: {} });
    const left = await plan(engine, ...before);
    assert.deepEqual([left.empty, left.steps, left.transaction.number], [false, [], 1]);
    assert.match(planSummary(left), /what a killed command left in the records is put in order/);
  });

  it("tells what changes in place, from and to", async () => {
    const grown = await plan(
      await running(...before),
      machine("web", { diskGib: 40, tags: { a: "1" } }),
    );
    const change = grown.machines.find(({ machine: name }) => name === "web");
    assert.deepEqual(change?.changes, [{ path: "diskGib", from: 20, to: 40 }]);
    assert.equal(change?.kind, "update");
  });

  it("tells why a machine is replaced", async () => {
    const replaced = await plan(
      await running(...before),
      machine("web", { zone: "local-b", tags: { a: "1" } }),
    );
    const change = replaced.machines.find(({ machine: name }) => name === "web");
    assert.deepEqual([change?.kind, change?.reasons], ["replace", ["a host stays in its zone"]]);
  });
});

describe("the plan of a MachineDeployment", () => {
  it("that changes in place keeps set, machines and hosts", async () => {
    const engine = await running(machineDeployment("web", 2, { diskGib: 20 }));
    const after = await plan(engine, machineDeployment("web", 2, { diskGib: 30 }));
    assert.deepEqual(stepsOf(after), [
      "update LocalHost/web-#-0-#-1",
      "update LocalHost/web-#-1-#-1",
    ]);
  });

  it("that is replaced gets a new set; each new machine tells whose place it takes", async () => {
    const engine = await running(machineDeployment("web", 2, { size: "small" }));
    const after = await plan(engine, machineDeployment("web", 2, { size: "large" }));
    assert.deepEqual(
      after.steps.map(({ kind }) => kind),
      ["create", "create", "delete", "delete"],
    );
    assert.deepEqual(
      after.machines.map(({ kind, reasons, changes }) => [kind, reasons, changes]),
      Array.from({ length: 2 }, () => [
        "replace",
        ["this provider cannot resize"],
        [{ path: "size", from: "small", to: "large", reason: "this provider cannot resize" }],
      ]),
    );
    assert.equal(new Set(after.machines.map(({ supersedes }) => supersedes)).size, 2);
  });

  it("that goes back while the change is under way finds its first machines again", async () => {
    const engine = await running(machineDeployment("web", 1, { size: "small" }));
    const forward = await plan(engine, machineDeployment("web", 1, { size: "large" }));
    await engine.apply(forward, killedAt(0));
    const back = await plan(engine, machineDeployment("web", 1, { size: "small" }));
    assert.deepEqual(
      [stepsOf(back), back.transaction.number, back.open !== undefined],
      [[], 3, true],
    );
  });
});

describe("a host that is gone from the cloud", () => {
  const objects = [machine("cp", { controlPlane: "1.34.2" }), machine("web")];

  it("is followed by its next incarnation, and its record is deleted last", async () => {
    const engine = await running(...objects);
    engine.cloud.kill(hostOf(engine, "web"));
    const heal = await plan(engine, ...objects);
    assert.deepEqual(stepsOf(heal), ["create LocalHost/web-#-2", "delete LocalHost/web-#-1"]);
    assert.equal(heal.machines.find(({ machine: name }) => name === "web")?.kind, "replace");
    assert.match(heal.steps[1]?.reason ?? "", /gone from the cloud/);
    assert.deepEqual(Object.values(heal.transaction.spent).sort(), [1, 2]);
  });

  it("three times over never brings a name back", async () => {
    const engine = await running(...objects);
    for (const incarnation of [2, 3, 4]) {
      engine.cloud.kill(hostOf(engine, "web"));
      assert.equal(
        stepsOf(await plan(engine, ...objects))[0],
        `create LocalHost/web-#-${incarnation}`,
      );
      await engine.settle(desiredOf([cluster(), ...objects]));
    }
  });

  it("keeps its number spent while its Machine is away", async () => {
    const engine = await running(...objects);
    await engine.settle(desiredOf([cluster(), objects[0]!]));
    assert.deepEqual(stepsOf(await plan(engine, ...objects)), ["create LocalHost/web-#-2"]);
  });
});

describe("two hosts that could both serve", () => {
  const member = machine("cp", { controlPlane: "1.34.2" });
  const wide = machine("db", { diskGib: 30 });

  /** The new host's smaller disk could grow again, whichever of them the state holds first. */
  const between = async () => {
    const engine = await running(member, wide);
    const narrow = desiredOf([cluster(), member, machine("db", { diskGib: 20 })]);
    await engine.up(narrow, [{ at: "write", number: 6, what: "killBefore" }]);
    const hosts = engine.prior.resources.filter(({ name }) => name.startsWith("db-"));
    assert.equal(hosts.length, 2, "both are recorded");
    return engine;
  };

  for (const order of ["as recorded", "the other way round"]) {
    it(`are told apart by which of them served before: ${order}`, async () => {
      const engine = await between();
      if (order !== "as recorded") engine.tamper((resources) => resources.toReversed());
      const back = await plan(engine, member, wide);
      assert.deepEqual(stepsOf(back), ["delete LocalHost/db-#-2"]);
    });
  }
});

describe("a host that failed", () => {
  const failing: readonly CommandFault[] = [{ at: "boot", number: 0, what: "fails" }];
  const grown = [machine("cp", { controlPlane: "1.35.0" }), machine("web")];

  /** Past its point of no return, so that the failed host is not taken back. */
  const stuck = async () => {
    const engine = await running(machine("cp", { controlPlane: "1.34.2" }));
    const outcome = await engine.up(desiredOf([cluster(), ...grown]), failing);
    assert.ok(outcome.kind === "stopped" && outcome.result === "forwardOnly");
    return engine;
  };

  it("is followed by its next incarnation", async () => {
    const engine = await stuck();
    const heal = await plan(engine, ...grown);
    assert.deepEqual(stepsOf(heal), ["create LocalHost/web-#-2", "delete LocalHost/web-#-1"]);
    assert.deepEqual(heal.machines.at(-1)?.reasons, ["its host failed in the cloud"]);
    engine.cloud.failure = { reason: "its disk is full" };
    const told = await plan(engine, ...grown);
    assert.deepEqual(told.machines.at(-1)?.reasons, [
      "its host failed in the cloud: its disk is full",
    ]);
    engine.cloud.failure = undefined;
    await engine.settle(desiredOf([cluster(), ...grown]));
    assert.equal((await plan(engine, ...grown)).empty, true);
  });

  /** On the way back to what the open transaction wanted, from a revision with these hosts. */
  const stepsBack = async (engine: FakeEngine, revisionHas: "its host" | "no host of it") => {
    const { transaction, revision } = engine.prior;
    assert.ok(transaction !== undefined && revision !== undefined);
    const { provider, clock } = engine;
    const before =
      revisionHas === "its host" ? { ...revision, target: transaction.target } : revision;
    const { plan: back } = await planRecorded(
      transaction.target,
      { ...engine.prior, revision: before, foreign: [] },
      {
        provider,
        clock,
        stop: new AbortController().signal,
        by: "user@host",
        deadlineMs: 60_000,
        goal: { kind: "takeBack" },
      },
    );
    return stepsOf(back);
  };

  it("is left as it is by a rollback that found it so", async () => {
    assert.deepEqual(await stepsBack(await stuck(), "its host"), []);
  });

  it("is made again by a rollback if it was made since", async () => {
    assert.deepEqual(await stepsBack(await stuck(), "no host of it"), [
      "create LocalHost/web-#-2",
      "delete LocalHost/web-#-1",
    ]);
  });

  it("and that nothing recorded is not waited for", async () => {
    const engine = await running(machine("cp", { controlPlane: "1.34.2" }));
    const wanted = [machine("cp", { controlPlane: "1.34.2" }), machine("web")];
    const killed = { at: "call", number: 0, what: "killAfter" } as const;
    await engine.up(desiredOf([cluster(), ...wanted]), [...failing, killed]);
    engine.clock.advance(1_000);
    assert.deepEqual(stepsOf(await plan(engine, ...wanted)), ["create LocalHost/web-#-2"]);
    await engine.settle(desiredOf([cluster(), ...wanted]));
    assert.equal(engine.hosts().length, 2);
  });
});

describe("drift", () => {
  const objects = [machine("web", { tags: { a: "1" } })];

  it("in place is read again first and then put back", async () => {
    const engine = await running(...objects);
    engine.cloud.drift(hostOf(engine, "web"), { tags: { by: "hand" } });
    const repair = await plan(engine, ...objects);
    assert.deepEqual(stepsOf(repair), ["update LocalHost/web-#-1"]);
    assert.deepEqual(repair.stale.map(withoutHash), ["LocalHost/web-#-1"]);
    assert.deepEqual(repair.machines[0]?.changes, [
      { path: "tags", from: { by: "hand" }, to: { a: "1" } },
    ]);
    assert.equal(repair.transaction.number, 2);
  });

  it("in what cannot be changed needs a new host", async () => {
    const engine = await running(...objects);
    engine.cloud.drift(hostOf(engine, "web"), { size: "large" });
    assert.deepEqual(stepsOf(await plan(engine, ...objects)), [
      "create LocalHost/web-#-2",
      "delete LocalHost/web-#-1",
    ]);
  });

  it("toward what is wanted now needs no change, but its record is stale", async () => {
    const engine = await running(machine("web", { diskGib: 20 }));
    engine.cloud.drift(hostOf(engine, "web"), { diskGib: 40 });
    const wanted = await plan(engine, machine("web", { diskGib: 40 }));
    assert.deepEqual([wanted.steps, wanted.stale.map(withoutHash)], [[], ["LocalHost/web-#-1"]]);
  });
});

describe("infrastructure", () => {
  const objects = [machine("web")];
  const moved = desiredOf([cluster({ cidr: "10.7.0.0/16" }), ...objects]);

  it("that changes in place keeps everything in it", async () => {
    const quota = desiredOf([cluster({ machineQuota: 5 }), ...objects]);
    assert.deepEqual(stepsOf(await (await running(...objects)).plan(quota)), [
      "update LocalNetwork/network",
    ]);
  });

  it("that is replaced gets a new name, and what refers to it follows", async () => {
    const replaced = await (await running(...objects)).plan(moved);
    assert.deepEqual(stepsOf(replaced), [
      "create LocalNetwork/network-#",
      "create LocalLoadBalancer/api-#",
      "create LocalHost/web-#-1",
      "delete LocalNetwork/network",
      "delete LocalLoadBalancer/api",
      "delete LocalHost/web-#-1",
    ]);
    assert.deepEqual(replaced.machines[0]?.reasons, ["a host stays in its network"]);
  });

  it("has the same names when the plan is made again half-way", async () => {
    const engine = await running(...objects);
    const replaced = await engine.plan(moved);
    for (const made of ["the network", "the load balancer"]) {
      await engine.apply(await engine.plan(moved), killedAt(1));
      const again = await engine.plan(moved);
      assert.equal(again.targetDigest, replaced.targetDigest, `after ${made} was made`);
      assert.equal(again.transaction.number, 2);
    }
  });

  it("can be replaced again and again: no new name is one that is still recorded", async () => {
    const engine = await running(...objects);
    for (const cidr of ["10.1.0.0/16", "10.2.0.0/16", "10.1.0.0/16", "10.0.0.0/16"]) {
      const recorded = new Set(engine.prior.resources.map(({ key }) => key));
      const planGoal = desiredOf([cluster({ cidr }), ...objects]);
      const { steps } = await engine.plan(planGoal);
      const created = steps.filter(({ kind }) => kind === "create");
      assert.equal(created.length, 3);
      assert.deepEqual(
        created.filter(({ key }) => recorded.has(key)),
        [],
      );
      await engine.settle(planGoal);
    }
  });

  it("that somebody changed by hand, twice, gets a third name", async () => {
    const engine = await running(...objects);
    const names = ["network"];
    for (const _time of ["first", "second"]) {
      const network = engine.alive().find(({ who }) => who.kind === "LocalNetwork");
      engine.cloud.drift(network?.id ?? "", { cidr: "172.16.0.0/12" });
      await engine.settle(desiredOf([cluster(), ...objects]));
      names.push(engine.alive().find(({ who }) => who.kind === "LocalNetwork")?.who.name ?? "");
    }
    assert.equal(new Set(names).size, 3, names.join());
  });

  it("that is gone is made again under its name, after its record was read again", async () => {
    const engine = await running();
    const balancer = engine.alive().find(({ who }) => who.kind === "LocalLoadBalancer");
    engine.cloud.kill(balancer?.id ?? "");
    const heal = await plan(engine);
    assert.deepEqual(stepsOf(heal), ["create LocalLoadBalancer/api"]);
    assert.deepEqual(heal.stale, ["LocalLoadBalancer/api"]);
  });
});

describe("another life of a cluster", () => {
  it("begins with the first names, whatever the cloud shows of the one before", async () => {
    const engine = await running(machine("web"));
    assert.equal((await engine.destroy()).kind, "done");
    assert.deepEqual(stepsOf(await plan(engine, machine("web"))).slice(0, 2), [
      "create LocalNetwork/network",
      "create LocalLoadBalancer/api",
    ]);
  });
});

describe("an unfinished transaction", () => {
  const objects = [machine("cp", { controlPlane: "1.34.2" }), machine("web")];
  const interrupted = async (faults: readonly CommandFault[]) => {
    const engine = new FakeEngine();
    await engine.apply(await plan(engine, ...objects), faults);
    return engine;
  };

  it("goes on under its number, its time and its planned names", async () => {
    const engine = await interrupted(killedAt(3));
    const planned = engine.prior.transaction?.target.machines.map(({ host }) => host);
    engine.clock.advance(8_000);
    const resumed = await plan(engine, ...objects);
    assert.deepEqual(
      resumed.target.machines.map(({ host }) => host),
      planned,
    );
    const { number, startedAtMs } = resumed.transaction;
    assert.deepEqual(
      [resumed.open !== undefined, number, startedAtMs, resumed.empty],
      [true, 1, 1_000, false],
    );
    assert.deepEqual(stepsOf(resumed), ["create LocalHost/web-#-1"]);
  });

  it("gets the next number when the goal has changed meanwhile", async () => {
    const changed = await plan(
      await interrupted(killedAt(3)),
      objects[0]!,
      machine("web", { size: "large" }),
    );
    assert.deepEqual([changed.open !== undefined, changed.transaction.number], [true, 2]);
  });

  it("keeps a planned name for a goal that its host can follow", async () => {
    const changed = await plan(
      await interrupted(killedAt(3)),
      objects[0]!,
      machine("web", { diskGib: 99 }),
    );
    assert.deepEqual(stepsOf(changed), ["create LocalHost/web-#-1"]);
  });

  it("does not take a planned name again when its host was made, unrecorded, and died", async () => {
    const engine = await interrupted(killedAt(3, "killAfter"));
    engine.cloud.kill(hostOf(engine, "web"));
    assert.deepEqual(stepsOf(await plan(engine, ...objects)), ["create LocalHost/web-#-2"]);
  });

  it("is still to be committed when nothing is left to change", async () => {
    const engine = await running(...objects);
    engine.tamper((resources) =>
      resources
        .filter(({ kind }) => kind !== "Revision")
        .map(({ inputs: { committed: _none, ...inputs }, ...one }) => ({ ...one, inputs })),
    );
    const rest = await plan(engine, ...objects);
    assert.deepEqual([rest.steps, rest.open !== undefined, rest.empty], [[], true, false]);
    assert.equal(rest.transaction.number, 1);
  });

  it("updates an unfinished resource again, and reads it first", async () => {
    const engine = await running(...objects);
    engine.tamper((resources) =>
      resources.map((one) => (one.name.startsWith("web-") ? { ...one, unfinished: true } : one)),
    );
    const again = await plan(engine, ...objects);
    assert.deepEqual(stepsOf(again), ["update LocalHost/web-#-1"]);
    assert.deepEqual(again.stale.map(withoutHash), ["LocalHost/web-#-1"]);
    assert.match(again.steps[0]?.reason ?? "", /did not finish/);
  });

  it("reads an unfinished host again that died: Pulumi would try to update it in every pass", async () => {
    const engine = await running(...objects);
    engine.tamper((resources) =>
      resources.map((one) => (one.name.startsWith("web-") ? { ...one, unfinished: true } : one)),
    );
    engine.cloud.kill(hostOf(engine, "web"));
    const heal = await plan(engine, ...objects);
    assert.deepEqual(heal.stale.map(withoutHash), ["LocalHost/web-#-1"]);
    assert.equal((await engine.apply(heal)).kind, "done");
  });
});

describe("a lost state", () => {
  const objects = [machine("web")];
  const lost = async () => {
    const engine = new FakeEngine({ adopt: true });
    await engine.settle(desiredOf([cluster(), ...objects]));
    engine.tamper(() => []);
    return engine;
  };

  it("finds the cluster's hosts again by their names", async () => {
    const engine = await lost();
    const adopting = await plan(engine, ...objects);
    assert.deepEqual(stepsOf(adopting), [
      "adopt LocalNetwork/network",
      "adopt LocalLoadBalancer/api",
      "adopt LocalHost/web-#-1",
    ]);
    const calls = engine.calls.length;
    await engine.apply(adopting);
    assert.equal(engine.calls.length, calls, "found, not made");
    assert.ok((await plan(engine, ...objects)).empty, "it was as it is wanted");
  });

  it("starts above every incarnation that the cloud remembers", async () => {
    const engine = await lost();
    engine.cloud.kill(hostOf(engine, "web"));
    await engine.apply(await plan(engine, ...objects));
    assert.deepEqual(stepsOf(await plan(engine, ...objects)), ["create LocalHost/web-#-2"]);
  });

  it("adopts what nobody wants before it goes", async () => {
    const engine = await lost();
    const adopting = await plan(engine);
    assert.equal(stepsOf(adopting).at(-1), "adopt LocalHost/web-#-1");
    await engine.apply(adopting);
    assert.deepEqual(stepsOf(await plan(engine)), ["delete LocalHost/web-#-1"]);
  });
});

describe("refusals", () => {
  const stubborn = (kind: string): InfrastructureProvider => {
    const local = localProvider();
    return Object.create(local, {
      verdict: {
        value: (of: string, from: JsonObject, to: JsonObject) =>
          of === kind && !sameJson(from, to)
            ? { kind: "unsupported", paths: ["spec"], reason: "it is set in stone" }
            : { kind: "same" },
      },
    }) as InfrastructureProvider;
  };

  it("unsupported changes are told all at once and touch nothing", async () => {
    const engine = new FakeEngine({ provider: stubborn("LocalHost") });
    await engine.settle(desiredOf([cluster(), machine("a"), machine("b")]));
    await assert.rejects(
      () => plan(engine, machine("a", { size: "large" }), machine("b", { size: "large" })),
      (error) =>
        isCapstanError(error) &&
        error.code === "UNSUPPORTED_CHANGE" &&
        error.message ===
          "cannot change Machine a: it is set in stone\ncannot change Machine b: it is set in stone",
    );
  });

  it("unsupported changes of infrastructure as well", async () => {
    const engine = new FakeEngine({ provider: stubborn("LocalNetwork") });
    await engine.settle(desiredOf([cluster()]));
    await assert.rejects(
      () => engine.plan(desiredOf([cluster({ cidr: "10.5.0.0/16" })])),
      /cannot change LocalNetwork network: it is set in stone/,
    );
  });

  it("a Machine and a set that use one name", async () => {
    await assert.rejects(
      () => plan(new FakeEngine(), machine("db-0"), machineSet("db", 1)),
      (error) =>
        isCapstanError(error) &&
        error.code === "INVALID_INPUT" &&
        error.message.includes("Machine db-0"),
    );
  });
});
