import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import type { ClusterStatus } from "../../src/api/status.js";
import { eventTextOf } from "../../src/controller/event-messages.js";
import { machineFinalizer } from "../../src/kube/api-write.js";
import {
  annotated,
  cluster,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../support/manifests.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeController } from "../support/fake-controller.js";
import { FakeEngine } from "../support/fake-engine.js";

const member = machine("cp-0", { controlPlane: "1.34.2" });
const paused = { annotations: { "capstan.dev/paused": "hands off" } };

function objects(...more: readonly Manifest[]): Manifest[] {
  return [cluster(), member, ...more];
}

/** A controller that has brought the objects about. */
async function running(...given: readonly Manifest[]): Promise<FakeController> {
  const controller = new FakeController();
  controller.server.apply(...given);
  assert.deepEqual(await controller.settle(), { kind: "done" });
  return controller;
}

function status({ server }: FakeController): Partial<ClusterStatus> {
  return server.find("Cluster prod")?.status ?? {};
}

function machinesIn({ server }: FakeController): string[] {
  return server
    .all()
    .filter(({ kind }) => kind === "Machine")
    .map(({ metadata }) => metadata.name)
    .sort();
}

function edited(controller: FakeController, name: string, spec: object): void {
  controller.server.edit(name, (one) => ({ spec: { ...one.spec, ...spec } }));
}

describe("Reconciler", () => {
  it("makes what is asked for and shows it", async () => {
    const controller = await running(...objects(machineDeployment("web", 2)));
    assert.equal(controller.world.hosts().length, 3);
    assert.deepEqual(
      [status(controller).phase, status(controller).machines?.summary],
      ["Running", "3/3"],
    );
    assert.equal(machinesIn(controller).length, 3);
    assert.equal(controller.count("ended"), 1);
  });

  it("shows what a transaction has made before it observes the cluster again", async () => {
    const controller = new FakeController();
    const { server } = controller;
    server.apply(...objects(machineSet("set", 2)));
    assert.deepEqual(await controller.reconcile(), { kind: "retryAfter", ms: 0 });
    const { phase, machines, conditions = [], transaction } = status(controller);
    assert.deepEqual([phase, machines?.summary, transaction], ["Running", "3/3", undefined]);
    const told = conditions.map((one) => `${one.type} ${one.status} ${one.reason}`);
    assert.deepEqual(told.slice(0, 2), ["Ready True AsAsked", "Progressing False Complete"]);
    assert.equal(controller.cluster.baseline, undefined);
    const { length } = server.effects;
    assert.deepEqual(await controller.reconcile(), { kind: "done" });
    assert.notEqual(controller.cluster.baseline, undefined);
    assert.equal(
      server.effects.length,
      length,
      "the observation behind it has shown something else",
    );
  });

  it("does nothing about a cluster that is as it shall be", async () => {
    const controller = await running(...objects(machineSet("set", 1)));
    const { locked, server, world } = controller;
    const [effects, calls] = [server.effects.length, world.calls.length];
    for (let round = 0; round < 3; round += 1) {
      assert.deepEqual(await controller.reconcile(), { kind: "done" });
    }
    assert.equal(controller.locked, locked, "an engine was asked");
    assert.equal(server.effects.length, effects, "something was written");
    assert.equal(world.calls.length, calls);
  });

  it("does nothing in another cloud but say so, deletes nothing there, and goes on in the right one", async () => {
    const world = new FakeEngine({ traits: { ...plainWorld, name: "1" } });
    const controller = new FakeController(world);
    controller.server.apply(...objects(machineSet("set", 3)));
    assert.deepEqual(await controller.settle(), { kind: "done" });
    const [calls, state] = [world.calls.length, JSON.stringify(world.prior)];
    world.cloud.name = "2";
    const terminalError =
      /account 1 is recorded, and 2 answered; use the credentials and settings of acc/;
    const saysSo = () => {
      assert.equal(status(controller).phase, "Failed");
      assert.match(status(controller).errorMessage ?? "", terminalError);
      assert.deepEqual([world.calls.length, JSON.stringify(world.prior)], [calls, state]);
    };
    assert.equal((await controller.settle()).kind, "retryAfter");
    saysSo();
    edited(controller, "MachineSet set", { replicas: 5 });
    await controller.settle();
    saysSo();
    controller.server.delete("Cluster prod");
    await controller.settle();
    saysSo();
    assert.ok(controller.server.find("Cluster prod") !== undefined, "its finalizer was taken away");
    world.cloud.name = "1";
    await controller.settle();
    assert.deepEqual(world.alive(), []);
  });

  it("asks for no transaction of its own for what it wrote back", async () => {
    const controller = await running(
      cluster(),
      machine("cp-0", { controlPlane: "1.34.2", kubelet: "1.34.2" }),
    );
    const spec = controller.server.find("Machine cp-0")?.spec;
    assert.ok(spec?.["versions"] !== undefined);
    assert.equal(controller.count("ended"), 1);
    assert.equal(
      controller.cluster.baseline?.digest,
      controller.source.intentOf("default/prod").digest,
    );
  });

  describe("of edits while it works", () => {
    it("plans anew when the objects change between plan and first call", async () => {
      const controller = new FakeController();
      const { server } = controller;
      server.apply(...objects(machineSet("set", 1)));
      let isEdited = false;
      server.beforeWrite = (write) => {
        if (isEdited || write.kind !== "create") return;
        isEdited = true;
        edited(controller, "MachineSet set", { replicas: 3 });
      };
      assert.deepEqual(await controller.settle(), { kind: "done" });
      assert.ok(isEdited);
      assert.equal(controller.world.hosts().length, 4, "the edit was lost");
    });

    it("breaks off between two waves and goes on toward what is wanted now", async () => {
      const controller = new FakeController();
      const { server } = controller;
      controller.hearsAtOnce = true;
      server.apply(...objects(machineSet("set", 1)));
      controller.onHappening = ({ kind, ...happening }) => {
        if (kind !== "run" || !("event" in happening) || happening.event.kind !== "pass") return;
        controller.onHappening = () => {};
        edited(controller, "MachineSet set", { replicas: 2 });
      };
      await controller.settle();
      assert.equal(controller.count("broken off"), 1);
      assert.deepEqual(await controller.settle(), { kind: "done" });
      assert.equal(controller.world.hosts().length, 3);
    });

    it("makes nothing for a Cluster that went before it could be claimed", async () => {
      const controller = new FakeController();
      const { server, world } = controller;
      server.apply(...objects());
      server.beforeWrite = () => {
        server.beforeWrite = () => {};
        server.delete("Cluster prod");
      };
      await controller.settle();
      assert.equal(world.calls.length, 0, "a Cluster is gone, and its cloud is made");
      assert.equal(server.find("Cluster prod"), undefined);
    });

    it("makes nothing for a Cluster that cannot be claimed", async () => {
      const controller = new FakeController();
      const { server, world } = controller;
      server.apply(...objects());
      let edits = 0;
      server.beforeWrite = () => {
        edits += 1;
        const metadata = (one: { metadata: object }) => ({
          metadata: { ...one.metadata, labels: { edits: String(edits) } },
        });
        for (const name of ["Cluster prod", "Machine cp-0"]) {
          if (edits < 100)
            server.edit(
              name,
              name === "Cluster prod" ? metadata : () => ({ status: { phase: String(edits) } }),
            );
        }
      };
      assert.deepEqual(await controller.reconcile(), { kind: "failed" });
      assert.equal(world.calls.length, 0);
    });

    it("does not work on what was withdrawn while the stack was locked", async () => {
      const controller = new FakeController();
      const { server, world } = controller;
      controller.hearsAtOnce = true;
      server.apply(...objects());
      controller.onLock = () => {
        controller.onLock = () => {};
        server.delete("Cluster prod");
      };
      const outcome = await controller.reconcile();
      assert.deepEqual(outcome, { kind: "retryAfter", ms: 0 });
      assert.equal(world.calls.length, 0);
    });
  });

  describe("after a failure", () => {
    const change = machineDeployment("web", 1, { size: "large" });
    /** One whose change to another size fails for good. */
    async function held(): Promise<FakeController> {
      const controller = await running(...objects(machineDeployment("web", 1)));
      controller.meet({ at: "call", number: 0, what: "failForGood" });
      controller.server.apply(change);
      return controller;
    }

    it("takes back what it has done, says so, and waits longer each time", async () => {
      const controller = await held();
      const first = await controller.settle();
      assert.ok(first.kind === "retryAfter" && first.ms > 20_000, JSON.stringify(first));
      assert.match(status(controller).message ?? "", /taken back as revision/);
      const events = controller.happenings.flatMap((one) => eventTextOf(one)?.event ?? []);
      assert.ok(events.some(({ type, reason }) => type === "Warning" && reason === "RolledBack"));
      controller.world.clock.advance(first.ms);
      controller.meet({ at: "call", number: 0, what: "failForGood" });
      const second = await controller.settle();
      assert.ok(second.kind === "retryAfter" && second.ms > first.ms, JSON.stringify(second));
      assert.equal(controller.count("ended"), 3);
    });

    it("keeps what runs running meanwhile, without trying the failed change again", async () => {
      const controller = await held();
      await controller.settle();
      controller.meet();
      const waiting = await controller.settle();
      assert.ok(waiting.kind === "retryAfter" && waiting.ms > 10_000);
      const { baseline } = controller.cluster;
      assert.ok(baseline?.untilMs !== undefined, "a patrol would not look at it");
      const [host] = controller.world.hosts().slice(-1);
      controller.world.cloud.kill(host?.id ?? "");
      await controller.settle();
      const sizes = controller.world.hosts().map(({ spec }) => spec["size"]);
      assert.deepEqual([sizes.length, sizes.includes("large")], [2, false]);
    });

    it("tries again at once when something else is asked for", async () => {
      const controller = await held();
      await controller.settle();
      controller.meet();
      edited(controller, "MachineDeployment web", { replicas: 2 });
      assert.deepEqual(await controller.settle(), { kind: "done" });
      assert.equal(controller.cluster.failedAttempt, undefined);
      assert.equal(status(controller).message, undefined);
    });

    it("comes to rest when the time is over and nothing is left to do", async () => {
      const controller = await held();
      const outcome = await controller.settle();
      assert.ok(outcome.kind === "retryAfter");
      controller.meet();
      controller.world.clock.advance(outcome.ms + 1);
      assert.deepEqual(await controller.settle(), { kind: "done" });
      assert.equal(controller.cluster.failedAttempt, undefined);
    });

    it("comes to rest when what could not be corrected has healed by itself", async () => {
      const controller = await running(...objects(machineSet("set", 1)));
      const { cloud, clock } = controller.world;
      const host = controller.world.hosts().at(-1);
      assert.ok(host !== undefined);
      const { id, spec } = host;
      cloud.drift(id, { size: "enormous" });
      controller.meet({ at: "call", number: 0, what: "failForGood" });
      const outcome = await controller.settle();
      assert.ok(outcome.kind === "retryAfter" && outcome.ms > 0, JSON.stringify(outcome));
      assert.ok(spec["size"] !== undefined);
      cloud.drift(id, { size: spec["size"] });
      clock.advance(outcome.ms + 1);
      controller.meet();
      assert.deepEqual(await controller.settle(), { kind: "done" });
      assert.equal(controller.cluster.failedAttempt, undefined);
    });

    it("forgets a hold that is over once nothing is left to do", async () => {
      const controller = await running(...objects());
      const { cluster, world } = controller;
      const { digest } = controller.source.intentOf("default/prod");
      const unmet = { failures: [], machines: [] };
      const attempt = { digest, message: "no quota", isTakenBack: true, unmet };
      assert.ok(cluster.failed(attempt, world.clock.now() - 60_000).untilMs < world.clock.now());
      assert.deepEqual(await controller.reconcile(), { kind: "done" });
      assert.equal(cluster.failedAttempt, undefined);
      assert.equal(status(controller).message, undefined);
    });

    it("does not begin a first creation again before its time", async () => {
      const controller = new FakeController();
      controller.meet({ at: "call", number: 1, what: "failForGood" });
      controller.server.apply(...objects());
      const outcome = await controller.settle();
      assert.ok(outcome.kind === "retryAfter" && outcome.ms > 20_000, JSON.stringify(outcome));
      const { locked } = controller;
      const again = await controller.reconcile();
      assert.ok(again.kind === "retryAfter" && again.ms > 10_000);
      assert.equal(controller.locked, locked);
      assert.equal(status(controller).phase, "Pending");
    });
  });

  describe("of drift", () => {
    it("finds a host that is gone, tells it, and makes another one", async () => {
      const controller = await running(...objects(machineSet("set", 2)));
      const [victim] = controller.world.hosts().slice(-1);
      controller.world.cloud.kill(victim?.id ?? "");
      await controller.settle();
      assert.equal(controller.count("drift") > 0, true);
      assert.equal(controller.world.hosts().length, 3);
      assert.equal(status(controller).phase, "Running");
    });

    it("replaces a host that dies between a commit and the observation behind it", async () => {
      const controller = new FakeController();
      const { server, world } = controller;
      server.apply(...objects(machineSet("set", 2)));
      controller.onHappening = ({ kind }) => {
        if (kind !== "ended") return;
        controller.onHappening = () => {};
        world.cloud.kill(world.hosts().at(-1)?.id ?? "");
      };
      assert.deepEqual(await controller.settle(), { kind: "done" });
      assert.deepEqual([controller.count("drift"), controller.count("ended")], [2, 2]);
      assert.equal(world.hosts().length, 3);
      assert.equal(status(controller).machines?.summary, "3/3");
    });

    it("touches nothing when everything is gone at once", async () => {
      const controller = await running(...objects(machineSet("set", 3)));
      const calls = controller.world.calls.length;
      for (const { id } of controller.world.alive()) controller.world.cloud.kill(id);
      await controller.settle();
      assert.equal(controller.world.calls.length, calls);
      assert.equal(status(controller).phase, "Frozen");
      assert.equal(machinesIn(controller).length, 4);
    });

    it("takes a listing that fails for no answer", async () => {
      const controller = await running(...objects(machineSet("set", 1)));
      const [names, hosts] = [machinesIn(controller), controller.world.hosts().length];
      controller.meet({ at: "look", number: 0, what: "failForGood" });
      assert.deepEqual(await controller.settle(), { kind: "failed" });
      assert.deepEqual(machinesIn(controller), names);
      assert.equal(controller.world.hosts().length, hosts);
      assert.match(status(controller).message ?? "", /the listing/);
      controller.meet();
      assert.deepEqual(await controller.settle(), { kind: "done" });
      assert.equal(status(controller).message, undefined);
    });
  });

  describe("when its API server is away", () => {
    it("begins nothing", async () => {
      const controller = new FakeController();
      controller.server.apply(...objects());
      controller.server.isAway = true;
      assert.deepEqual(await controller.reconcile(), { kind: "failed" });
      assert.equal(controller.world.calls.length, 0);
    });

    it("goes on with what it has begun, and shows it when it is back", async () => {
      const controller = new FakeController();
      const { server } = controller;
      server.apply(...objects(machineSet("set", 1)));
      controller.onHappening = ({ kind }) => {
        if (kind === "run") server.isAway = true;
      };
      assert.deepEqual(await controller.settle(), { kind: "failed" });
      assert.equal(controller.world.hosts().length, 2);
      controller.onHappening = () => {};
      server.isAway = false;
      assert.deepEqual(await controller.settle(), { kind: "done" });
      assert.equal(status(controller).phase, "Running");
      assert.equal(controller.count("ended"), 1);
    });
  });

  describe("of a set with fewer replicas", () => {
    const mark = { "cluster.k8s.io/delete-machine": "yes" };
    const cases = [
      { name: "MachineSet", set: machineSet("web", 3), marks: mark },
      { name: "MachineDeployment", set: machineDeployment("web", 3), marks: mark },
      {
        name: "MachineDeployment in profile modern",
        set: annotated({ "capstan.dev/profile": "modern" }, machineDeployment("web", 3)),
        marks: { "cluster.x-k8s.io/delete-machine": "" },
      },
    ];
    for (const { name, set, marks } of cases) {
      it(`deletes the Machine that carries the mark of its ${name}, and asks for nothing before`, async () => {
        const controller = await running(...objects(set));
        const [, first = "", second = "", third = ""] = machinesIn(controller);
        controller.server.edit(`Machine ${second}`, ({ metadata }) => ({
          metadata: { ...metadata, annotations: marks },
        }));
        await controller.settle();
        assert.equal(controller.count("ended"), 1);
        edited(controller, `${String(set["kind"])} web`, { replicas: 2 });
        await controller.settle();
        assert.deepEqual(machinesIn(controller), ["cp-0", first, third]);
        assert.equal(controller.world.hosts().length, 3);
        assert.equal(controller.count("ended"), 2);
      });
    }
  });

  describe("of fields of sets", () => {
    const sizes = ({ world }: FakeController) => world.hosts().map(({ spec }) => spec["size"]);
    it("rolls no template out while the deployment is paused", async () => {
      const controller = await running(...objects(machineDeployment("web", 1)));
      edited(controller, "MachineDeployment web", { paused: true });
      controller.server.apply(machineDeployment("web", 1, { size: "large" }));
      edited(controller, "MachineDeployment web", { paused: true });
      await controller.settle();
      assert.ok(!sizes(controller).includes("large"));
      edited(controller, "MachineDeployment web", { paused: false });
      await controller.settle();
      assert.ok(sizes(controller).includes("large"));
    });

    it("waits for minReadySeconds", async () => {
      const withSeconds = async (minReadySeconds: number) => {
        const controller = await running(...objects());
        const before = controller.world.clock.now();
        controller.server.apply(machineDeployment("web", 1));
        edited(controller, "MachineDeployment web", { minReadySeconds });
        assert.deepEqual(await controller.settle(), { kind: "done" });
        return controller.world.clock.now() - before;
      };
      const more = (await withSeconds(1)) - (await withSeconds(0));
      assert.ok(more >= 1_000, `${more} ms longer`);
    });

    it("takes a rollout back that makes no progress for progressDeadlineSeconds", async () => {
      const controller = await running(...objects(machineDeployment("web", 1)));
      controller.meet({ at: "boot", number: 0, what: "never" });
      controller.server.apply(machineDeployment("web", 1, { size: "large" }));
      edited(controller, "MachineDeployment web", { progressDeadlineSeconds: 2 });
      await controller.settle();
      assert.match(
        status(controller).message ?? "",
        /^taken back as revision 3: MachineDeployment web has made no progress for 2 s/,
      );
    });
  });

  describe("of deletions", () => {
    it("frees everything, then lets all objects go", async () => {
      const controller = await running(...objects(machineDeployment("web", 2)));
      controller.server.delete("Cluster prod");
      assert.deepEqual(await controller.settle(), { kind: "done" });
      assert.deepEqual(controller.world.alive(), []);
      assert.deepEqual(controller.server.all(), []);
      assert.deepEqual(controller.remembered, []);
    });

    it("does so when everything is deleted at once, in whatever order", async () => {
      const controller = await running(
        ...objects(machineSet("set", 1), machineDeployment("web", 1)),
      );
      for (const { kind, metadata } of controller.server.all()) {
        controller.server.delete(`${kind} ${metadata.name}`);
      }
      await controller.settle();
      await controller.settle();
      assert.deepEqual(controller.world.alive(), []);
      assert.deepEqual(controller.server.all(), []);
    });

    it("keeps the objects as long as something is left in the cloud", async () => {
      const controller = await running(...objects(machineSet("set", 1)));
      controller.meet({ at: "call", number: 0, what: "failForGood" });
      controller.server.delete("Cluster prod");
      assert.deepEqual(await controller.settle(), { kind: "failed" });
      assert.ok(controller.server.find("Cluster prod") !== undefined);
      assert.ok(controller.world.alive().length > 0);
      controller.meet();
      await controller.settle();
      assert.deepEqual(controller.server.all(), []);
    });

    it("removes a user's Machine and lets its object go", async () => {
      const controller = await running(...objects(machine("db-0"), machine("db-1")));
      controller.server.delete("Machine db-0");
      assert.deepEqual(controller.server.find("Machine db-0")?.metadata.finalizers, [
        machineFinalizer,
      ]);
      await controller.settle();
      assert.deepEqual(machinesIn(controller), ["cp-0", "db-1"]);
      assert.equal(controller.world.hosts().length, 2);
    });

    it("puts another one in the place of a derived Machine that somebody deletes", async () => {
      const controller = await running(...objects(machineSet("set", 2)));
      const [victim = ""] = machinesIn(controller).slice(-1);
      controller.server.delete(`Machine ${victim}`);
      await controller.settle();
      assert.equal(machinesIn(controller).length, 3);
      assert.ok(!machinesIn(controller).includes(victim));
      assert.equal(controller.world.hosts().length, 3);
    });

    it("lets a user's Machine go in the middle of the transaction that makes it", async () => {
      const controller = new FakeController();
      const { server } = controller;
      server.apply(...objects(machine("db-0"), machine("db-1")));
      controller.onHappening = (event) => {
        if (event.kind !== "run" || event.event.kind !== "pass") return;
        controller.onHappening = () => {};
        server.delete("Machine db-0");
      };
      await controller.settle();
      await controller.settle();
      assert.deepEqual(machinesIn(controller), ["cp-0", "db-1"]);
      assert.equal(controller.world.hosts().length, 2);
    });

    it("does not take a lost state for nothing", async () => {
      const controller = await running(...objects());
      controller.world.tamper(() => []);
      controller.server.delete("Cluster prod");
      await controller.settle();
      assert.ok(controller.server.find("Cluster prod") !== undefined, "its hosts were forgotten");
      assert.match(status(controller).errorMessage ?? "", /the state knows none of them/);
    });

    it("asks nobody else's cloud about what an earlier leader has taken down", async () => {
      const controller = await running(...objects());
      const { provider } = controller.world;
      assert.equal((await controller.world.destroy()).kind, "done");
      const inventory = () => Promise.reject(new Error("which region is meant?"));
      controller.others = [{ ...provider, name: "other", apiVersion: "other.dev/v1", inventory }];
      controller.restart();
      controller.server.delete("Cluster prod");
      await controller.settle();
      assert.deepEqual(controller.server.all(), []);
    });

    it("tells of each step of a deletion, so that one that takes an hour is no hang", async () => {
      const controller = await running(...objects(machineSet("set", 2)));
      const before = controller.happenings.length;
      const alive = controller.world.alive().length;
      const living: number[] = [];
      controller.onHappening = ({ kind }) => {
        if (kind === "run") living.push(controller.world.hosts().length);
      };
      controller.server.delete("Cluster prod");
      await controller.settle();
      assert.deepEqual(controller.server.all(), []);
      const told = controller.happenings.slice(before).flatMap((one) => {
        const event = one.kind === "run" ? one.event : undefined;
        return event?.kind === "resource" ? [`${event.event.operation} ${event.event.state}`] : [];
      });
      assert.equal(told.filter((one) => one === "delete done").length, alive);
      // Not all of it at the end.
      assert.ok(new Set(living).size > 1, living.join());
    });

    it("waits with a deletion as long as the Cluster is paused", async () => {
      const controller = await running(...objects());
      controller.server.edit("Cluster prod", ({ metadata }) => ({
        metadata: { ...metadata, ...paused },
      }));
      controller.server.delete("Cluster prod");
      await controller.settle();
      assert.equal(controller.world.hosts().length, 1);
      controller.server.edit(
        "Cluster prod",
        ({ metadata: { annotations: _gone, ...metadata } }) => ({ metadata }),
      );
      await controller.settle();
      assert.deepEqual(controller.server.all(), []);
    });

    it("destroys nothing of a Cluster that was made anew meanwhile", async () => {
      const controller = await running(...objects());
      const { server } = controller;
      server.delete("Cluster prod");
      controller.onLock = () => {
        controller.onLock = () => {};
        server.edit("Cluster prod", ({ metadata: { finalizers: _none, ...metadata } }) => ({
          metadata,
        }));
        server.apply(cluster());
      };
      assert.deepEqual(await controller.reconcile(), { kind: "retryAfter", ms: 0 });
      assert.equal(controller.world.hosts().length, 1);
    });
  });

  describe("of a cluster at which it must not work", () => {
    it("leaves what is shown of a paused one after a restart, but says why", async () => {
      const controller = await running(...objects(machineSet("set", 1)));
      const before = status(controller);
      const others = controller.server.all().filter(({ kind }) => kind !== "Cluster");
      controller.server.edit("Cluster prod", ({ metadata }) => ({
        metadata: { ...metadata, ...paused },
      }));
      controller.restart();
      await controller.reconcile();
      assert.equal(status(controller).phase, "Paused");
      assert.deepEqual(status(controller).machines, before.machines);
      assert.equal(status(controller).revision, before.revision);
      assert.deepEqual(
        controller.server
          .all()
          .filter(({ kind }) => kind !== "Cluster")
          .map(({ status: shown }) => shown),
        others.map(({ status: shown }) => shown),
      );
    });

    it("takes up a paused one where it was left, and says so", async () => {
      const controller = await running(...objects(machineSet("set", 1)));
      const before = status(controller);
      controller.server.edit("Cluster prod", ({ metadata }) => ({
        metadata: { ...metadata, ...paused },
      }));
      assert.deepEqual(await controller.reconcile(), { kind: "done" });
      assert.equal(status(controller).phase, "Paused");
      controller.server.edit(
        "Cluster prod",
        ({ metadata: { annotations: _gone, ...metadata } }) => ({ metadata }),
      );
      assert.deepEqual(await controller.settle(), { kind: "done" });
      assert.deepEqual(status(controller), before);
    });

    it("leaves another owner's alone and looks again in a while", async () => {
      const world = new FakeEngine();
      const controller = new FakeController(world);
      controller.server.apply(...objects());
      const intent = controller.source.intentOf("default/prod");
      assert.ok(intent.kind === "want");
      await world.settle(intent.desired);
      const calls = world.calls.length;
      const outcome = await controller.reconcile();
      assert.ok(outcome.kind === "retryAfter" && outcome.ms >= 60_000);
      assert.equal(world.calls.length, calls);
      assert.equal(status(controller).errorReason, "InvalidConfiguration");
      controller.server.delete("Cluster prod");
      await controller.reconcile();
      assert.equal(world.calls.length, calls, "another owner's cluster was deleted");
    });

    it("adopts nothing that carries another UID than the Cluster remembers", async () => {
      const world = new FakeEngine();
      const controller = new FakeController(world);
      controller.server.apply(...objects());
      await controller.settle();
      world.tamper(() => []);
      controller.restart();
      controller.server.edit("Cluster prod", ({ metadata }) => ({
        metadata: {
          ...metadata,
          annotations: { ...metadata.annotations, "capstan.dev/cluster-uid": "uid-of-mine" },
        },
      }));
      const calls = world.calls.length;
      await controller.settle();
      assert.equal(world.calls.length, calls);
      assert.equal(status(controller).errorReason, "CreateError");
    });

    for (const copied of [["cluster-uid", "bound-to"], ["cluster-uid"]]) {
      it(`adopts nothing for a copy with ${copied.join(" and ")}, until it is asked to`, async () => {
        const world = new FakeEngine();
        const original = new FakeController(world);
        original.server.apply(...objects());
        await original.settle();
        const { annotations = {} } = clusterOn(original).metadata;
        world.tamper(() => []);
        const other = new FakeController(world);
        // Its objects come to have other uids than those of the original.
        other.server.apply(...objects(machineSet("elsewhere", 1)).reverse());
        const marks = Object.fromEntries(
          copied.map((name) => [`capstan.dev/${name}`, annotations[`capstan.dev/${name}`] ?? ""]),
        );
        mark(other, marks);
        const { uid } = clusterOn(other).metadata;
        assert.notEqual(uid, annotations["capstan.dev/bound-to"]);
        const calls = world.calls.length;
        await other.settle();
        assert.equal(world.calls.length, calls, "a copy has taken over the original's hosts");
        assert.equal(status(other).errorReason, "CreateError");
        mark(other, { "capstan.dev/bound-to": uid });
        await other.settle();
        assert.ok(world.calls.length > calls);
      });
    }

    it("binds the UID that an older version has written, once it is at work", async () => {
      const controller = await running(...objects());
      const { uid } = clusterOn(controller).metadata;
      controller.server.edit("Cluster prod", ({ metadata }) => {
        const { "capstan.dev/bound-to": _bound, ...annotations } = metadata.annotations ?? {};
        return { metadata: { ...metadata, annotations } };
      });
      await controller.settle();
      assert.equal(clusterOn(controller).metadata.annotations?.["capstan.dev/bound-to"], uid);
    });
  });

  it("stops where it can go on, and begins nothing more, when the process ends", async () => {
    const controller = new FakeController();
    controller.server.apply(...objects(machineSet("set", 2)));
    controller.onHappening = ({ kind }) => {
      const reason = new CapstanError({ code: "CANCELLED", source: "user", message: "SIGTERM" });
      if (kind === "run") controller.stop.abort(reason);
    };
    assert.deepEqual(await controller.reconcile(), { kind: "done" });
    assert.equal(controller.count("broken off"), 1);
    const next = new FakeController(controller.world);
    next.server.apply(...objects(machineSet("set", 2)));
    assert.deepEqual(await next.settle(), { kind: "done" });
    assert.equal(next.world.hosts().length, 3);
  });

  it("forgets a cluster that is gone", async () => {
    const controller = new FakeController();
    assert.deepEqual(await controller.reconcile(), { kind: "done" });
    assert.deepEqual(controller.remembered, []);
  });

  it("warns of what is suspicious about objects, on the object and once for each content", async () => {
    const marked = annotated(
      { "cluster.k8s.io/delete-machine": "yes" },
      machine("cp-0", { controlPlane: "1.34.2" }),
    );
    const controller = await running(cluster(), marked);
    const warnings = () =>
      controller.happenings.flatMap((event) => (event.kind === "warned" ? [event] : []));
    const [event, ...others] = warnings();
    assert.ok(event !== undefined);
    assert.deepEqual(others, []);
    const { level, message, event: told } = eventTextOf(event) ?? {};
    assert.deepEqual(
      [level, told],
      [
        "warn",
        {
          type: "Warning",
          reason: "NoEffect",
          action: "Read",
          about: { kind: "Machine", name: "cp-0" },
        },
      ],
    );
    assert.match(message ?? "", /^metadata\.annotations\..*: chooses no Machine: no set has made/);
    await controller.settle();
    assert.equal(warnings().length, 1, "the same is told again");
    controller.server.edit("Machine cp-0", (one) => ({
      metadata: { ...one.metadata, annotations: {} },
    }));
    await controller.settle();
    controller.server.apply(marked);
    await controller.settle();
    assert.equal(warnings().length, 2, "what has come again is not told");
  });
});

function clusterOn({ server }: FakeController) {
  const found = server.find("Cluster prod");
  assert.ok(found !== undefined);
  return found;
}

/** Annotates the Cluster, as a person or a backup does. */
function mark(controller: FakeController, marks: Readonly<Record<string, string>>): void {
  controller.server.edit("Cluster prod", ({ metadata }) => ({
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...marks } },
  }));
}
