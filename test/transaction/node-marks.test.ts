import assert from "node:assert/strict";
import { classifyDrift } from "../../src/drift/classify.js";
import type { Plan } from "../../src/plan/plan.js";
import { marksOf } from "../../src/workload/node-marks.js";
import { byPolicy, drifts, hostOf, judged, lines, sightWithNodes } from "../drift/drifting.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine } from "../support/fake-engine.js";
import { cluster, desiredOf, machine, type Manifest } from "../support/manifests.js";

const joins = { traits: { ...plainWorld, joins: true } } as const;
const taint = { key: "dedicated", value: "db", effect: "NoSchedule" } as const;

/** A worker whose Node is to bear a label and a taint. */
function labelled(name: string): Manifest {
  const plain = machine(name);
  const marks = { metadata: { labels: { tier: "gold" } }, taints: [taint] };
  return { ...plain, spec: { ...(plain["spec"] as object), ...marks } };
}

const member = machine("cp-0", { controlPlane: "1.34.2" });
const wanted = desiredOf([cluster(), member, labelled("web"), labelled("db")]);

/** Somebody takes all that its Machine asks for off the Node of a machine. */
function unmark(engine: FakeEngine, name: string): void {
  engine.cloud.hosts.marks.set(hostOf(engine, name).who.name, marksOf({}));
}

function labelsOn(engine: FakeEngine, name: string): unknown {
  return engine.cloud.hosts.marks.get(hostOf(engine, name).who.name)?.labels;
}

/** "update web nodeLabels, taints". */
function stepsIn({ steps }: Plan): string[] {
  return steps.map((step) => {
    const paths = step.kind === "update" ? step.changes.map(({ path }) => path).join(", ") : "";
    return `${step.kind} ${step.key.replace(/^LocalHost\/|-[0-9a-f]{8}-\d+$/g, "")} ${paths}`.trim();
  });
}

describe("a Node that lacks what its Machine asks for", () => {
  it("is drift of its host, which a plan shows as a change in place and up corrects", async () => {
    const engine = await FakeEngine.running(wanted, joins);
    assert.deepEqual(stepsIn(await engine.plan(wanted)), []);
    unmark(engine, "web");
    const report = classifyDrift(engine.prior, await sightWithNodes(engine), engine.provider);
    assert.deepEqual(lines(judged(report, wanted)), ["changed web: correct update"]);
    const plan = await engine.plan(wanted);
    assert.deepEqual(stepsIn(plan), ["update web nodeLabels, taints"]);
    assert.equal(plan.empty, false);
    assert.deepEqual(labelsOn(engine, "web"), {});
    const before = engine.hosts().map(({ who }) => who.name);
    await engine.settle(wanted);
    assert.deepEqual(labelsOn(engine, "web"), { tier: "gold" });
    assert.deepEqual(
      engine.hosts().map(({ who }) => who.name),
      before,
    );
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("is left as it is by everything that only observes", async () => {
    const engine = await FakeEngine.running(wanted, joins);
    unmark(engine, "web");
    await engine.look("loop");
    await engine.look("up");
    await engine.plan(wanted);
    assert.deepEqual(labelsOn(engine, "web"), {});
  });

  it("stays so where the drift policy of its Machine ignores it, whatever else is changed", async () => {
    const ignoring = (...more: readonly Manifest[]) =>
      desiredOf([cluster(), member, drifts("ignore", labelled("web")), ...more]);
    const engine = await FakeEngine.running(ignoring(), { ...joins, ...byPolicy });
    unmark(engine, "web");
    const plan = await engine.plan(ignoring());
    assert.deepEqual([stepsIn(plan), plan.ignoredDrift?.length], [[], 1]);
    await engine.settle(ignoring(labelled("db")));
    assert.deepEqual([labelsOn(engine, "web"), labelsOn(engine, "db")], [{}, { tier: "gold" }]);
  });

  it("keeps its host where the drift policy asks for new hosts", async () => {
    const replacing = desiredOf([cluster(), member, drifts("replace", labelled("web"))]);
    const engine = await FakeEngine.running(replacing, { ...joins, ...byPolicy });
    unmark(engine, "web");
    assert.deepEqual(stepsIn(await engine.plan(replacing)), ["update web nodeLabels, taints"]);
  });

  it("is none that anything is known of while its API server does not answer", async () => {
    const engine = await FakeEngine.running(wanted, joins);
    unmark(engine, "web");
    engine.cloud.hosts.answers = () => false;
    assert.deepEqual(stepsIn(await engine.plan(wanted)), []);
    assert.deepEqual(labelsOn(engine, "web"), {});
  });
});
