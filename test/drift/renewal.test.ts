import assert from "node:assert/strict";
import { renewalAnnotation } from "../../src/api/certificate-renewal.js";
import { driftAnnotations } from "../../src/api/drift-policy.js";
import { updatePolicyAnnotation } from "../../src/api/update-policy.js";
import { type Desired, objectsOf } from "../../src/api/types.js";
import { decisionText, findingText } from "../../src/drift/drift-text.js";
import { judgedDrift, rulesOfHealing } from "../../src/drift/plan-with-drift.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine } from "../support/fake-engine.js";
import { annotated, cluster, desiredOf, machine } from "../support/manifests.js";
import { hostOf, lines, sightWithNodes } from "./drifting.js";

const traits = { ...plainWorld, joins: true, tellsTimes: true };
const dayMs = 24 * 3_600_000;
const names = ["cp-0", "cp-1", "cp-2"];
type Annotations = Readonly<Record<string, string>>;

/** Three members and a worker; `days` before their certificates expire members get new hosts. */
function wanted(days?: string, own: Annotations = {}, ofMembers: Annotations = {}): Desired {
  return desiredOf([
    annotated({ ...(days !== undefined && { [renewalAnnotation]: days }), ...own }, cluster()),
    ...names.map((name) => annotated(ofMembers, machine(name, { controlPlane: "1.34.2" }))),
    machine("web"),
  ]);
}

/** One that has run for a while; the certificates of the hosts that there are now count for so many days more, those of new ones for a year. */
async function running(desired: Desired, daysLeft: Readonly<Record<string, number | undefined>>) {
  const engine: FakeEngine = new FakeEngine({
    traits,
    driftRules: (asked) => rulesOfHealing(objectsOf(asked), engine.clock.now()),
  });
  await engine.settle(desired);
  const nowMs = engine.clock.now();
  const left = new Map(
    Object.entries(daysLeft).map(([name, days]) => [hostOf(engine, name).who.name, days]),
  );
  engine.cloud.hosts.certificateUntilMs = (host) => {
    const days = left.has(host) ? left.get(host) : 365;
    return days === undefined ? undefined : nowMs + days * dayMs;
  };
  return engine;
}

async function judgedNow(engine: FakeEngine, desired: Desired) {
  const { provider, prior: records, clock } = engine;
  const seen = await sightWithNodes(engine);
  return judgedDrift(records, seen, provider, rulesOfHealing(objectsOf(desired), clock.now()));
}

const soon = { "cp-0": 20, "cp-1": 20, "cp-2": 20 };
const incarnations = (engine: FakeEngine) =>
  engine
    .hosts()
    .map(({ who }) => who.name.replace(/-[0-9a-f]{8}-/, "."))
    .sort();

describe("certificates of members that expire soon", () => {
  it("get them new hosts, one at a time, until none expires so soon", async () => {
    const desired = wanted("30");
    const engine = await running(desired, soon);
    assert.deepEqual(lines(await judgedNow(engine, desired)), [
      "expiring cp-0: correct replace",
      "expiring cp-1: overBudget",
      "expiring cp-2: overBudget",
    ]);
    const plan = await engine.plan(desired);
    assert.match(
      plan.steps.map(({ reason }) => reason).join("\n"),
      /its certificates expire on 1970-01-21T[\d:]+Z, and 30 days before that it is replaced/,
    );
    await engine.up(desired);
    assert.deepEqual(incarnations(engine), ["cp-0.2", "cp-1.1", "cp-2.1", "web.1"]);
    await engine.up(desired);
    await engine.up(desired);
    assert.deepEqual(incarnations(engine), ["cp-0.2", "cp-1.2", "cp-2.2", "web.1"]);
    assert.ok((await engine.plan(desired)).empty);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("get them new hosts also where they have expired, and their etcd is heard no more", async () => {
    const desired = wanted("30");
    const engine = await running(desired, { "cp-1": -1 });
    const { hosts } = engine.cloud;
    const expired = hostOf(engine, "cp-1").who.name;
    hosts.isHeard = (host) => host !== expired;
    hosts.ails = (host) => (host === expired ? "its certificate has expired" : undefined);
    await engine.up(desired);
    assert.deepEqual(incarnations(engine), ["cp-0.1", "cp-1.2", "cp-2.1", "web.1"]);
    assert.ok((await engine.plan(desired)).empty);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("are told with the day and with what is done", async () => {
    const desired = wanted("30");
    const engine = await running(desired, { "cp-1": 29 });
    const [item] = (await judgedNow(engine, desired)).items;
    assert.equal(
      item && `${findingText(item.item)}; ${decisionText(item)}`,
      "its certificates expire on 1970-01-30T00:00:01Z, and 30 days before that it is replaced; a new host takes its place",
    );
  });

  const quiet = [
    { name: "nobody who does not ask for it", desired: wanted(), left: soon },
    { name: "nobody as long as there is time", desired: wanted("20"), left: { "cp-0": 21 } },
    {
      name: "nobody whose expiry nobody can tell",
      desired: wanted("30"),
      left: { "cp-0": undefined, "cp-1": undefined },
    },
  ];
  for (const { name, desired, left } of quiet) {
    it(`replace ${name}`, async () => {
      const engine = await running(desired, left);
      assert.deepEqual(lines(await judgedNow(engine, desired)), []);
      assert.ok((await engine.plan(desired)).empty);
    });
  }

  const kept = [
    {
      name: "whose policy only reports",
      desired: wanted("30", {}, { [driftAnnotations.policy]: "report" }),
    },
    {
      name: "whose update policy rules a new host out",
      desired: wanted("30", {}, { [updatePolicyAnnotation]: "inPlaceOnly" }),
    },
    {
      name: "while the cluster allows no correction",
      desired: wanted("30", { [driftAnnotations.maxInFlight]: "0" }),
    },
  ];
  for (const { name, desired } of kept) {
    it(`replace nobody ${name}`, async () => {
      const engine = await running(desired, { "cp-0": 5 });
      const judged = lines(await judgedNow(engine, desired));
      assert.equal(judged.length, 1);
      assert.match(judged[0] ?? "", /^expiring cp-0: (report|overBudget)$/);
      await engine.up(desired);
      assert.deepEqual(incarnations(engine), ["cp-0.1", "cp-1.1", "cp-2.1", "web.1"]);
    });
  }

  it("replace nobody while too few members are healthy for etcd's majority", async () => {
    const desired = wanted("30");
    const engine = await running(desired, { "cp-0": 5 });
    for (const name of ["cp-1", "cp-2"]) engine.cloud.kill(hostOf(engine, name).id);
    const [own] = (await judgedNow(engine, desired)).items.filter(
      ({ item }) => item.class === "expiring",
    );
    assert.ok(own?.decision.kind === "frozen" || own?.decision.kind === "report");
  });
});
