import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { CapstanError } from "../../src/api/error.js";
import { ClusterState } from "../../src/controller/cluster-state.js";
import { nodesDigestOf, pollNodes } from "../../src/controller/poll-nodes.js";
import { callContext } from "../../src/engine/run/handler-session.js";
import { NodeReports } from "../../src/engine/run/node-reports.js";
import { type NodeKey, nodeKey } from "../../src/graph/graph.js";
import type { InfrastructureProvider, NodeReport } from "../../src/provider/port.js";
import type { ClusterView } from "../../src/source/cluster-view.js";
import type { EtcdHealth } from "../../src/workload/etcd/etcd-health.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeClock } from "../support/fake-clock.js";
import { FakeEngine } from "../support/fake-engine.js";
import { cluster, desiredOf, machine } from "../support/manifests.js";

const periodMs = 30_000;

function nodesOf(kubelet: string): Map<NodeKey, NodeReport> {
  return new Map(["a", "b"].map((name) => [nodeKey("LocalHost", name), { kubelet, name }]));
}

/** A cluster that had nothing left to do when its Nodes said this. */
function settled(nodes?: ReadonlyMap<NodeKey, NodeReport>, etcd?: EtcdHealth): ClusterState {
  const records = { transaction: { target: { provider: "cloud" } } };
  const view = { records, observedResources: new Map() } as unknown as ClusterView;
  const state = new ClusterState();
  const baseline = { digest: "asked", observedDigest: "seen" };
  state.settled(
    view,
    nodes === undefined ? baseline : { ...baseline, nodesDigest: nodesDigestOf(nodes, etcd) },
  );
  return state;
}

/** What a look says of one cluster, and how often its Nodes were asked. */
async function look(
  state: ClusterState,
  said: ReadonlyMap<NodeKey, NodeReport> | undefined,
  health?: EtcdHealth,
) {
  const clock = new FakeClock(0, "manual");
  const ended = new AbortController();
  const told: string[] = [];
  let asked = 0;
  const reports = new NodeReports(() => assert.fail("nobody else is asked"));
  const polling = {
    nodeReports: {
      isToLift: reports.isToLift.bind(reports),
      of: () => {
        asked += 1;
        return Promise.resolve(said);
      },
      etcdOf: () => Promise.resolve(health && { health, certificates: new Map() }),
    },
    providers: [{ name: "cloud" } as InfrastructureProvider],
    context: callContext(clock, ended.signal),
    clock,
    periodMs,
    random: () => 0.5,
    remembered: () => new Map([["default/one", state]]),
    onChange: (key: string) => told.push(key),
  };
  const walking = pollNodes(polling, ended.signal);
  clock.advance(periodMs);
  for (let turns = 0; turns < 10; turns += 1) await turn();
  ended.abort();
  await walking;
  return { told, asked };
}

const wanted = desiredOf([cluster(), machine("cp-0", { controlPlane: "1.34.2" })]);

/** A cluster whose hosts are Nodes, as it is looked at by a clock that stands still. */
async function lookedAt() {
  const engine = await FakeEngine.running(wanted, { traits: { ...plainWorld, joins: true } });
  const sight = await engine.sight();
  assert.ok("observedResources" in sight);
  const clock = new FakeClock(0, "manual");
  const context = callContext(clock, new AbortController().signal);
  const { provider, prior: records } = engine;
  return { engine, sight, clock, looked: { provider, records, context } };
}

describe("a look at the Nodes of settled clusters", () => {
  it("leaves alone those that say the same, in whatever order", async () => {
    const state = settled(nodesOf("1.34.2"));
    const turned = new Map([...nodesOf("1.34.2")].toReversed());
    assert.deepEqual(await look(state, turned), { told: [], asked: 1 });
    assert.notEqual(state.baseline, undefined);
  });

  it("has a cluster looked at in full whose Nodes say something else, or something at last", async () => {
    for (const before of [nodesOf("1.34.2"), undefined]) {
      const state = settled(before);
      assert.deepEqual(await look(state, nodesOf("1.33.9")), { told: ["default/one"], asked: 1 });
      assert.equal(state.baseline, undefined);
    }
  });

  it("has a cluster looked at in full that a drain has left a cordon in, as often as it is there", async () => {
    const node = { kubelet: "1.34.2", cordonedBy: "capstan" } as const;
    const cordoned = new Map([[nodeKey("Host", "a"), node]]);
    assert.deepEqual(await look(settled(cordoned), cordoned), { told: ["default/one"], asked: 1 });
    const others = new Map([[nodeKey("Host", "a"), { ...node, cordonedBy: "others" } as const]]);
    assert.deepEqual(await look(settled(others), others), { told: [], asked: 1 });
  });

  it("lifts no cordon by records that it remembers, as somebody may be at work", async () => {
    const { engine, sight, looked } = await lookedAt();
    const { cordoned } = engine.cloud.hosts;
    engine.cloud.hosts.nodeSays = () => ({ kubelet: "1.34.2" });
    for (const { who } of engine.hosts()) cordoned.add(who.name);
    const nodeReports = new NodeReports(engine.openWorkload, true);
    await nodeReports.of(sight, { ...looked, isRemembered: true });
    assert.equal(cordoned.size, 1);
    const nodes = await nodeReports.of(sight, looked);
    assert.equal(cordoned.size, 0);
    const seen = [...(nodes?.values() ?? [])].map(({ cordonedBy }) => cordonedBy);
    assert.deepEqual(seen, [undefined], "as they are after it");
  });

  it("looks less and less at what a cluster does not let it lift", async () => {
    const { engine, sight, clock, looked } = await lookedAt();
    const { cordoned } = engine.cloud.hosts;
    for (const { who } of engine.hosts()) cordoned.add(who.name);
    const nodeReports = new NodeReports(async (access) => {
      const workload = await engine.openWorkload(access);
      workload.uncordon = () => Promise.reject(refused);
      return workload;
    }, true);
    const nodes = (await nodeReports.of(sight, looked)) ?? new Map<NodeKey, NodeReport>();
    const isToLift = () => nodeReports.isToLift(nodes, looked);
    assert.equal(isToLift(), false);
    clock.advance(60_000);
    assert.equal(isToLift(), true);
    await nodeReports.of(sight, looked);
    clock.advance(60_000);
    assert.equal(isToLift(), false);
  });

  it("has a cluster looked at in full whose etcd is otherwise, in whatever words", async () => {
    const ill = (why: string): EtcdHealth => [{ name: "a", votes: true, state: "ill", why }];
    const well: EtcdHealth = [{ name: "a", votes: true, state: "well" }];
    const told = async (before: EtcdHealth, now: EtcdHealth) =>
      (await look(settled(nodesOf("1.34.2"), before), nodesOf("1.34.2"), now)).told;
    assert.deepEqual(await told(well, ill("no answer")), ["default/one"]);
    assert.deepEqual(await told(ill("no answer"), ill("refused")), []);
  });

  it("takes no answer for no news, and asks nothing of a cluster that is worked on", async () => {
    const state = settled(nodesOf("1.34.2"));
    assert.deepEqual(await look(state, undefined), { told: [], asked: 1 });
    state.unsettled();
    assert.deepEqual(await look(state, nodesOf("1.33.9")), { told: [], asked: 0 });
  });
});

describe("a cluster that is asked for its Nodes", () => {
  it("is asked less and less while it does not answer, and as before once it does", async () => {
    const { engine, sight, clock, looked } = await lookedAt();
    let asked = 0;
    let isSilent = true;
    const nodeReports = new NodeReports((access) => {
      asked += 1;
      if (isSilent) return Promise.reject(refused);
      return engine.openWorkload(access);
    });
    engine.cloud.hosts.nodeSays = () => ({ kubelet: "1.34.2" });
    const askedAfter = async (minutes: number) => {
      clock.advance(minutes * 60_000);
      const before = asked;
      const nodes = await nodeReports.of(sight, looked);
      return [asked - before, nodes?.size];
    };
    assert.deepEqual(await askedAfter(0), [1, undefined]);
    assert.deepEqual(await askedAfter(0.9), [0, undefined]);
    assert.deepEqual(await askedAfter(0.1), [1, undefined]);
    assert.deepEqual(await askedAfter(1), [0, undefined]);
    isSilent = false;
    assert.deepEqual(await askedAfter(1), [1, 1]);
    assert.deepEqual(await askedAfter(0), [1, 1]);
  });

  it("is asked less and less for its etcd while that cannot be asked", async () => {
    const { engine, sight, clock, looked } = await lookedAt();
    let asked = 0;
    let isSilent = true;
    const nodeReports = new NodeReports(async (access) => {
      const workload = await engine.openWorkload(access);
      const answer = workload.etcd.bind(workload);
      workload.etcd = (...question) => {
        asked += 1;
        return isSilent ? Promise.reject(refused) : answer(...question);
      };
      return workload;
    });
    engine.cloud.hosts.nodeSays = () => ({ kubelet: "1.34.2" });
    const askedAfter = async (minutes: number) => {
      clock.advance(minutes * 60_000);
      const before = asked;
      const { etcd = [] } = await nodeReports.over(sight, { ...looked, asksEtcd: true });
      return [asked - before, etcd.map(({ state }) => state)];
    };
    assert.deepEqual(await askedAfter(0), [1, ["unknown"]]);
    assert.deepEqual(await askedAfter(0.9), [0, ["unknown"]]);
    assert.deepEqual(await askedAfter(0.1), [1, ["unknown"]]);
    assert.deepEqual(await askedAfter(1), [0, ["unknown"]]);
    isSilent = false;
    assert.deepEqual(await askedAfter(1), [1, ["well"]]);
    assert.deepEqual(await askedAfter(0), [1, ["well"]]);
  });

  it("is asked for nothing where its hosts run nothing", async () => {
    const engine = await FakeEngine.running(wanted);
    const { provider, prior: records, clock } = engine;
    const context = callContext(clock, new AbortController().signal);
    const nodeReports = new NodeReports(() => assert.fail("it was asked"));
    const sight = await engine.sight();
    assert.ok("observedResources" in sight);
    assert.deepEqual(await nodeReports.over(sight, { provider, records, context }), sight);
  });
});

const refused = new CapstanError({ code: "API_SERVER", source: "cloud", message: "no answer" });
