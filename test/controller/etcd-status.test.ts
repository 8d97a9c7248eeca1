import assert from "node:assert/strict";
import { renewalAnnotation } from "../../src/api/certificate-renewal.js";
import type { Condition } from "../../src/api/status.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeController } from "../support/fake-controller.js";
import { FakeEngine } from "../support/fake-engine.js";
import { timesAsMany } from "../support/laws.js";
import { annotated, cluster, machine, type Manifest } from "../support/manifests.js";

const dayMs = 24 * 3_600_000;
const members = ["cp-0", "cp-1", "cp-2"].map((name) => machine(name, { controlPlane: "1.34.2" }));

async function running(of: Manifest = cluster()): Promise<FakeController> {
  const world = new FakeEngine({ traits: { ...plainWorld, joins: true, tellsTimes: true } });
  const controller = new FakeController(world);
  controller.server.apply(of, ...members);
  assert.deepEqual(await controller.settle(), { kind: "done" });
  return controller;
}

/** "True Healthy", without the hash in a host's name. */
function etcdCondition({ server }: FakeController): string | undefined {
  const { conditions = [] } = server.find("Cluster prod")?.status ?? {};
  const found = (conditions as readonly Condition[]).find(
    (one) => one.type === "EtcdClusterHealthy",
  );
  const words = [found?.status, found?.reason, found?.message].filter((one) => one);
  return found && words.join(" ").replace(/-[0-9a-f]{8}-1/, "");
}

/** The next look, in which something else is asked for. */
async function lookAgain(controller: FakeController, label: string): Promise<void> {
  controller.server.edit("Cluster prod", ({ metadata }) => ({
    metadata: { ...metadata, labels: { label } },
  }));
  await controller.settle();
}

describe("the status of a Cluster", () => {
  it("tells how etcd is, as Cluster API calls it, and that it is not known", async () => {
    const controller = await running();
    const { hosts } = controller.world.cloud;
    assert.equal(etcdCondition(controller), "True Healthy");
    hosts.ails = (host) => (host.startsWith("cp-1") ? "it is out of space" : undefined);
    await lookAgain(controller, "ill");
    assert.equal(
      etcdCondition(controller),
      'False NotHealthy LocalHost/cp-1: its etcd says "it is out of space"',
    );
    hosts.answers = () => false;
    await lookAgain(controller, "silent");
    assert.equal(etcdCondition(controller), "Unknown HealthUnknown no API server answers");
  });
});

describe("a Cluster whose certificates are renewed", () => {
  it("is looked at again when the first of them come near, and gets new hosts", async () => {
    const world = new FakeEngine({ traits: { ...plainWorld, joins: true, tellsTimes: true } });
    const controller = new FakeController(world);
    const { hosts } = world.cloud;
    const first = new Set<string>();
    const beganMs = world.clock.now();
    hosts.certificateUntilMs = (host) => {
      if (first.size < 3) first.add(host);
      return beganMs + (first.has(host) ? 365 : 730) * dayMs;
    };
    controller.server.apply(annotated({ [renewalAnnotation]: "30" }, cluster()), ...members);
    const outcome = await controller.settle();
    assert.ok(outcome.kind === "retryAfter", outcome.kind);
    assert.equal(Math.round((world.clock.now() + outcome.ms - beganMs) / dayMs), 335);
    const namesNow = () => world.hosts().map(({ who }) => who.name);
    world.clock.advance(outcome.ms - 60_000);
    await controller.settle();
    assert.deepEqual(namesNow().toSorted(), [...first].toSorted(), "not before they are due");
    world.clock.advance(60_000);
    await controller.settle();
    assert.ok(
      namesNow().every((name) => !first.has(name)),
      namesNow().join(),
    );
    assert.deepEqual(world.cloud.watch.violations, []);
  });

  it("gets all of them, wherever its controller is killed while it has begun with one", async () => {
    for (let number = 0; ; number += 1) {
      const controller = await running(annotated({ [renewalAnnotation]: "30" }, cluster()));
      const { world } = controller;
      const old = new Set(world.hosts().map(({ who }) => who.name));
      const soonMs = world.clock.now() + 20 * dayMs;
      world.cloud.hosts.certificateUntilMs = (host) => soonMs + (old.has(host) ? 0 : 300 * dayMs);
      world.clock.advance(3_600_000);
      controller.restart();
      controller.meet({ at: "write", number, what: "killAfter" });
      for (let turns = 0; turns < 6; turns += 1) await controller.settle();
      const left = world.hosts().filter(({ who }) => old.has(who.name));
      assert.deepEqual(left, [], `killed at write ${number}`);
      assert.deepEqual(world.cloud.watch.violations, []);
      if (controller.deaths === 0) return assert.ok(number > 3, `${number} writes`);
    }
  }).timeout(timesAsMany(120_000));
});
