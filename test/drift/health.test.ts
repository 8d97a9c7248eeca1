import assert from "node:assert/strict";
import { describeCluster } from "../../src/cli/describe-report.js";
import { driftAnnotations } from "../../src/api/drift-policy.js";
import { skipRemediationAnnotation } from "../../src/api/machine-annotations.js";
import { updatePolicyAnnotation } from "../../src/api/update-policy.js";
import { type Desired, objectsOf } from "../../src/api/types.js";
import { decisionText, findingText } from "../../src/drift/drift-text.js";
import type { JudgedDrift } from "../../src/drift/judge.js";
import { judgedDrift, rulesOfHealing } from "../../src/drift/plan-with-drift.js";
import { keyOf, type NodeKey } from "../../src/graph/graph.js";
import type { NodeReport } from "../../src/provider/port.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeController } from "../support/fake-controller.js";
import { FakeEngine } from "../support/fake-engine.js";
import {
  annotated,
  cluster,
  desiredOf,
  healthCheck,
  machine,
  machineSet,
  type Manifest,
  testCluster,
} from "../support/manifests.js";
import { hostOf, lines, sightWithNodes } from "./drifting.js";

const traits = { ...plainWorld, joins: true, tellsTimes: true };
const { maxUnhealthy, maxInFlight, policy } = driftAnnotations;
/** So that no budget decides. */
const openly = { [maxUnhealthy]: "100%", [maxInFlight]: "100%" };
const members = ["cp-0", "cp-1", "cp-2"].map((name) => machine(name, { controlPlane: "1.34.2" }));
const healthy: NodeReport = { kubelet: "1.34.2" };

/** What is wrong with some machines, by the beginning of their hosts' names. */
type Trouble = Readonly<
  Record<string, "noNode" | { readonly status: "False" | "Unknown"; readonly forS: number }>
>;

/** A cluster of three members and the four workers of set `pool`, of which some are in trouble now. The last object of each name counts. */
async function troubled(trouble: Trouble, objects: readonly Manifest[]): Promise<Troubled> {
  const nameOf = ({ kind, metadata }: Manifest) =>
    `${String(kind)}/${(metadata as { name: string }).name}`;
  const all = [cluster(), ...members, machineSet("pool", 4), ...objects];
  const desired = desiredOf([...new Map(all.map((one) => [nameOf(one), one])).values()]);
  const engine: FakeEngine = new FakeEngine({
    traits,
    driftRules: (asked) => rulesOfHealing(objectsOf(asked), engine.clock.now()),
  });
  await engine.settle(desired);
  engine.clock.advance(3_600_000);
  ail(engine, trouble);
  return { engine, desired };
}

interface Troubled {
  readonly engine: FakeEngine;
  readonly desired: Desired;
}

/** The hosts that machines have now: others that take their places are well. */
function ail(engine: FakeEngine, trouble: Trouble): void {
  const sick = new Map(
    Object.entries(trouble).map(([name, what]) => [hostOf(engine, name).who.name, what]),
  );
  const { hosts } = engine.cloud;
  const nowMs = engine.clock.now();
  hosts.hasJoined = (host) => sick.get(host) !== "noNode";
  hosts.nodeSays = (host) => {
    const what = sick.get(host);
    if (what === undefined || what === "noNode") return healthy;
    const lastTransitionTime = new Date(nowMs - what.forS * 1_000).toISOString();
    return { ...healthy, conditions: [{ type: "Ready", status: what.status, lastTransitionTime }] };
  };
}

async function judgedNow({ engine, desired }: Troubled, isSilent = false): Promise<JudgedDrift> {
  const { provider, prior: records, clock } = engine;
  const seen = isSilent ? await engine.sight() : await sightWithNodes(engine);
  return judgedDrift(records, seen, provider, rulesOfHealing(objectsOf(desired), clock.now()));
}

const notReady = (forS: number) => ({ status: "False", forS }) as const;
const triggered = (triggerIf: Manifest, name = "check") =>
  healthCheck(name, "pool", { remediation: { triggerIf } });
const budgeted = (annotations: Readonly<Record<string, string>>) =>
  annotated({ ...openly, ...annotations }, cluster());

interface Case {
  readonly name: string;
  readonly trouble: Trouble;
  readonly objects?: readonly Manifest[];
  readonly want: readonly string[];
  /** Why the first one is left alone. */
  readonly because?: RegExp;
  /** Expected, healthy and allowed of the first check. */
  readonly counts?: readonly [number, number, number];
}

const check = healthCheck("check");
const cases: readonly Case[] = [
  {
    name: "one that has lasted too long gets another host",
    trouble: { "pool-1": notReady(201) },
    want: ["unhealthy pool-1: correct replace"],
    counts: [4, 3, 3],
  },
  {
    name: "one that has not is not healthy either, and stays",
    trouble: { "pool-1": notReady(200) },
    want: [],
    counts: [4, 3, 3],
  },
  {
    name: "another status is no trouble",
    trouble: { "pool-1": { status: "Unknown", forS: 900 } },
    want: [],
    counts: [4, 4, 4],
  },
  {
    name: "a host without its Node has ten minutes",
    trouble: { "pool-1": "noNode" },
    want: ["unhealthy pool-1: correct replace"],
  },
  {
    name: "or for ever",
    trouble: { "pool-1": "noNode" },
    objects: [healthCheck("check", "pool", { checks: { nodeStartupTimeoutSeconds: 0 } })],
    want: [],
    counts: [4, 3, 3],
  },
  {
    name: "a machine that is to be let alone is not looked at",
    trouble: { "pool-1": notReady(900) },
    objects: [check, templated({ [skipRemediationAnnotation]: "" }, machineSet("pool", 4))],
    want: [],
    counts: [0, 0, 0],
  },
  {
    name: "policy report reports",
    trouble: { "pool-1": notReady(900) },
    objects: [check, annotated({ [policy]: "report" }, machineSet("pool", 4))],
    want: ["unhealthy pool-1: report"],
    because: /policy report$/,
  },
  {
    name: "policy ignore says nothing",
    trouble: { "pool-1": notReady(900) },
    objects: [check, annotated({ [policy]: "ignore" }, machineSet("pool", 4))],
    want: ["unhealthy pool-1: ignore"],
  },
  {
    name: "what must not lose its host keeps it",
    trouble: { "pool-1": notReady(900) },
    objects: [check, annotated({ [updatePolicyAnnotation]: "inPlaceOnly" }, machineSet("pool", 4))],
    want: ["unhealthy pool-1: report"],
    because: /inPlaceOnly rules a new host out$/,
  },
  {
    name: "one at a time, by the budget of drift",
    trouble: { "pool-1": notReady(900), "pool-2": notReady(900) },
    want: ["unhealthy pool-1: correct replace", "unhealthy pool-2: overBudget"],
  },
  {
    name: "too many at once by the budget of drift, of which one has not lasted for long",
    trouble: { "pool-1": notReady(900), "pool-2": notReady(900), "pool-3": notReady(1) },
    want: ["unhealthy pool-1: report", "unhealthy pool-2: report"],
    because: /3 of 7 machines are unhealthy, and 2 may be; capstan\.dev\/drift-max-unhealthy/,
  },
  {
    name: "more than its check acts on, of which one has not lasted for long",
    trouble: { "pool-1": notReady(900), "pool-2": notReady(1) },
    objects: [budgeted({}), triggered({ unhealthyLessThanOrEqualTo: "49%" })],
    want: ["unhealthy pool-1: report"],
    because: /MachineHealthCheck check acts on fewer or more than 2 unhealthy of 4 machines$/,
    counts: [4, 2, 0],
  },
  {
    name: "just as many as its check acts on",
    trouble: { "pool-1": notReady(900), "pool-2": notReady(1) },
    objects: [budgeted({}), triggered({ unhealthyLessThanOrEqualTo: "50%" })],
    want: ["unhealthy pool-1: correct replace"],
    counts: [4, 2, 0],
  },
  {
    name: "fewer than the range of its check, which counts before the other bound",
    trouble: { "pool-1": notReady(900) },
    objects: [triggered({ unhealthyInRange: "[2-3]", unhealthyLessThanOrEqualTo: 4 })],
    want: ["unhealthy pool-1: report"],
    counts: [4, 3, 0],
  },
  {
    name: "a check that acts counts before one that does not",
    trouble: { "pool-1": notReady(900) },
    objects: [triggered({ unhealthyLessThanOrEqualTo: 0 }, "a-first"), check],
    want: ["unhealthy pool-1: correct replace"],
  },
  {
    name: "a member whose others are a majority",
    trouble: { "cp-1": notReady(900) },
    objects: [memberCheck(), ...members.map((one) => labelled(one))],
    want: ["unhealthy cp-1: correct replace"],
  },
  {
    name: "a member whose others are none, one of them for a second",
    trouble: { "cp-1": notReady(900), "cp-2": notReady(1) },
    objects: [budgeted({}), memberCheck(), ...members.map((one) => labelled(one))],
    want: ["unhealthy cp-1: report"],
    because: /1 of 3 control-plane members is healthy, too few to do without it$/,
  },
  {
    name: "a member whose others are none, although no check looks at them",
    trouble: { "cp-1": notReady(900), "cp-2": notReady(900) },
    objects: [budgeted({}), memberCheck(), ...members.slice(0, 2).map((one) => labelled(one))],
    want: ["unhealthy cp-1: report"],
    because: /1 of 3 control-plane members is healthy, too few to do without it$/,
  },
];

function memberCheck(): Manifest {
  return healthCheck("check", "members");
}

function templated(annotations: Readonly<Record<string, string>>, set: Manifest): Manifest {
  const spec = set["spec"] as { template: Manifest };
  const { template } = spec;
  const metadata = { ...(template["metadata"] as Manifest), annotations };
  return { ...set, spec: { ...spec, template: { ...template, metadata } } };
}

function labelled(one: Manifest): Manifest {
  const metadata = one["metadata"] as { labels: Record<string, string> };
  return { ...one, metadata: { ...metadata, labels: { ...metadata.labels, set: "members" } } };
}

describe("a machine whose Node is in trouble", () => {
  for (const { name, trouble, objects = [check], want, because, counts } of cases) {
    it(name, async () => {
      const judged = await judgedNow(await troubled(trouble, objects));
      assert.deepEqual(lines(judged), want);
      const [first] = judged.items;
      if (because !== undefined && first !== undefined) assert.match(decisionText(first), because);
      const [told] = judged.report.health?.checks ?? [];
      if (counts !== undefined)
        assert.deepEqual([told?.expected, told?.healthy, told?.allowed], counts);
    });
  }

  it("is told with what it is and since when", async () => {
    const found = await troubled({ "pool-1": notReady(900), "pool-2": notReady(100) }, [check]);
    const { items, report } = await judgedNow(found);
    assert.deepEqual(
      items.map(({ item }) => findingText(item)),
      [
        "MachineHealthCheck check: its Node says Ready=False since 1970-01-01T00:45:01Z, which may last 200 s",
      ],
    );
    const { provider, prior, clock } = found.engine;
    const about = { nowMs: clock.now(), worker: { kind: "none" }, provider } as const;
    const observation = await sightWithNodes(found.engine);
    const state = { ...prior, foreign: [] };
    const { machines } = describeCluster("default.prod", state, { ...about, observation });
    assert.deepEqual(
      machines.map(({ reason }) => reason).filter((reason) => reason.includes("unhealthy")),
      [
        "is unhealthy by MachineHealthCheck check: its Node says Ready=False since 1970-01-01T00:45:01Z, which may last 200 s; capstan up replaces it",
      ],
    );
    // A second after the other one has lasted for as long as it may.
    assert.equal(report.health?.nextMs, found.engine.clock.now() + 101_000);
  });

  it("says nothing where its cluster does not answer, nor of workers in the middle of something that does not wait for them", async () => {
    const selector = { matchLabels: { "cluster.k8s.io/cluster-name": testCluster } };
    const trouble = { "pool-1": notReady(900), "cp-1": notReady(900) };
    const found = await troubled(trouble, [check, healthCheck("members", "", { selector })]);
    const replaced = (name: string) => `unhealthy ${name}: correct replace`;
    assert.deepEqual(lines(await judgedNow(found)), ["cp-1", "pool-1"].map(replaced));
    assert.deepEqual(lines(await judgedNow(found, true)), []);
    const { provider, prior, clock } = found.engine;
    const { transaction } = prior;
    assert.ok(transaction !== undefined);
    const rules = rulesOfHealing(objectsOf(found.desired), clock.now());
    const whileOpen = async (touched: readonly NodeKey[]) => {
      const next = { ...transaction, number: transaction.number + 1, touched };
      const open = { ...prior, transaction: next };
      const seen = await sightWithNodes(found.engine, open);
      return lines(judgedDrift(open, seen, provider, rules));
    };
    assert.deepEqual(await whileOpen([]), [replaced("cp-1")]);
    const worker = keyOf(hostOf(found.engine, "pool-1").who);
    assert.deepEqual(await whileOpen([worker]), ["cp-1", "pool-1"].map(replaced));
  });

  it("is no part of what a person believes or not", async () => {
    const found = await troubled({}, [check]);
    const { report } = await judgedNow(found);
    ail(found.engine, { "pool-1": notReady(900) });
    const later = await judgedNow(found);
    assert.equal(later.items.length, 1);
    assert.equal(later.report.fingerprint, report.fingerprint);
  });
});

describe("an up over machines in trouble", () => {
  it("shows which hosts go and why, replaces them one after the other, and then has nothing to do", async () => {
    const { engine, desired } = await troubled(
      { "pool-1": notReady(900), "pool-2": notReady(900) },
      [check],
    );
    const before = hostOf(engine, "pool-1").who.name;
    const plan = await engine.plan(desired);
    assert.deepEqual(
      plan.machines.flatMap(({ kind, machine: name, reasons }) =>
        kind === "same" ? [] : [`${kind} ${name} ${reasons.join("; ")}`],
      ),
      [
        "replace pool-1 MachineHealthCheck check: its Node says Ready=False since 1970-01-01T00:45:01Z, which may last 200 s",
      ],
    );
    assert.deepEqual(
      plan.ignoredDrift?.map(({ because }) => because),
      ["overBudget"],
    );
    assert.equal((await engine.up(desired)).kind, "done");
    assert.notEqual(hostOf(engine, "pool-1").who.name, before);
    assert.ok(engine.cloud.hosts.drained.has(before));
    assert.equal((await engine.up(desired)).kind, "done");
    assert.deepEqual(lines(await judgedNow({ engine, desired })), []);
    assert.ok((await engine.plan(desired)).empty);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });
});

describe("a host that the cloud takes away and whose machine is unhealthy", () => {
  it("is replaced for the first, whatever the second allows", async () => {
    const found = await troubled({ "pool-1": notReady(900) }, [
      budgeted({}),
      triggered({ unhealthyLessThanOrEqualTo: 0 }),
    ]);
    assert.deepEqual(lines(await judgedNow(found)), ["unhealthy pool-1: report"]);
    found.engine.cloud.announce(hostOf(found.engine, "pool-1").id);
    assert.deepEqual(lines(await judgedNow(found)), ["leaving pool-1: correct replace"]);
  });
});

describe("a watch loop over machines in trouble", () => {
  it("comes back when the time is over, replaces the host, and tells how the check fares", async () => {
    const world = new FakeEngine({ traits });
    const controller = new FakeController(world);
    const { server } = controller;
    world.cloud.hosts.nodeSays = () => healthy;
    server.apply(cluster(), ...members, machineSet("pool", 4), check);
    await controller.settle();
    const status = () => server.find("MachineHealthCheck check")?.status ?? {};
    assert.deepEqual([status()["expectedMachines"], status()["currentHealthy"]], [4, 4]);
    const before = hostOf(world, "pool-1").who.name;
    ail(world, { "pool-1": notReady(0) });
    controller.cluster.unsettled();
    const outcome = await controller.settle();
    assert.deepEqual(outcome, { kind: "retryAfter", ms: 201_000 });
    assert.deepEqual([status()["expectedMachines"], status()["currentHealthy"]], [4, 3]);
    world.clock.advance(201_000);
    await controller.settle();
    assert.notEqual(hostOf(world, "pool-1").who.name, before);
    assert.deepEqual([status()["expectedMachines"], status()["currentHealthy"]], [4, 4]);
  });
});
