import type { JsonObject } from "../../src/api/json.js";
import { driftAnnotations } from "../../src/api/drift-policy.js";
import { objectsOf, type Desired } from "../../src/api/types.js";
import { classifyDrift, type DriftReport } from "../../src/drift/classify.js";
import { type DriftMemory, type JudgedDrift, judgeDrift, noMemory } from "../../src/drift/judge.js";
import { rulesOfRequest } from "../../src/drift/plan-with-drift.js";
import { callContext } from "../../src/engine/run/handler-session.js";
import { NodeReports } from "../../src/engine/run/node-reports.js";
import type { Observation } from "../../src/plan/observation.js";
import type { Observed } from "../../src/provider/port.js";
import type { PriorState } from "../../src/records/prior-state.js";
import { annotated, cluster, desiredOf, machine, type Manifest } from "../support/manifests.js";
import type { CommandFault } from "../support/faults.js";
import { type EngineSetup, FakeEngine } from "../support/fake-engine.js";

// A cluster that somebody changes behind everybody's back, and what is made of it.

const { policy } = driftAnnotations;

/** Asks for a drift policy, and for budgets where they are given. */
export function drifts(
  asked: string,
  manifest: Manifest,
  more: Readonly<Record<string, string>> = {},
): Manifest {
  return annotated({ [policy]: asked, ...more }, manifest);
}

/** One member, and workers "a", "b", "c" that everything here happens to. */
export function desiredWith(...changed: readonly Manifest[]): Desired {
  const usual = [
    cluster(),
    machine("cp", { controlPlane: "1.34.2" }),
    ...["a", "b", "c"].map((name) => machine(name)),
  ];
  const named = new Map([...usual, ...changed].map((one) => [nameOf(one), one]));
  return desiredOf([...named.values()]);
}

function nameOf(manifest: Manifest): string {
  return `${String(manifest["kind"])}/${String((manifest["metadata"] as Manifest)["name"])}`;
}

/** The policies of the loop: the whole of them, without a memory. */
export const byPolicy: EngineSetup = {
  driftRules: (desired) => ({ ...rulesOfRequest(objectsOf(desired)), leaves: "byPolicy" }),
};

/** An engine that has brought about what is wanted. */
export async function running(
  desired: Desired,
  setup: EngineSetup = byPolicy,
): Promise<FakeEngine> {
  const engine = new FakeEngine(setup);
  await engine.settle(desired);
  return engine;
}

/** The living host of a machine. */
export function hostOf(engine: FakeEngine, name: string): Observed {
  const host = engine.hosts().find(({ who }) => who.name.startsWith(`${name}-`));
  if (host === undefined) throw new Error(`${name} has no host`);
  return host;
}

export function kill(engine: FakeEngine, ...names: readonly string[]): void {
  for (const name of names) engine.cloud.kill(hostOf(engine, name).id);
}

export function change(engine: FakeEngine, name: string, fields: JsonObject): void {
  engine.cloud.drift(hostOf(engine, name).id, fields);
}

export async function reportOn(
  engine: FakeEngine,
  faults: readonly CommandFault[] = [],
): Promise<DriftReport> {
  return classifyDrift(engine.prior, await engine.sight(faults), engine.provider);
}

/** What the loop sees: the cloud, and what Nodes say of themselves. */
export async function sightWithNodes(
  engine: FakeEngine,
  records: PriorState = engine.prior,
): Promise<Observation> {
  const sight = await engine.sight();
  if ("failed" in sight) throw new Error(sight.failed);
  const { provider, clock, openWorkload } = engine;
  const context = callContext(clock, new AbortController().signal);
  return new NodeReports(openWorkload).over(sight, { provider, records, context });
}

export interface DriftSetup {
  readonly memory?: DriftMemory;
  readonly nowMs?: number;
}

export function judged(
  report: DriftReport,
  desired: Desired,
  { memory = noMemory, nowMs = 0 }: DriftSetup = {},
): JudgedDrift {
  return judgeDrift(report, { objects: objectsOf(desired), memory, nowMs });
}

/** "missing a: correct create": machine, or kind of what machines share. */
export function lines({ items }: JudgedDrift): string[] {
  return items.map(({ item, decision }) => {
    const how = "how" in decision ? ` ${decision.how}` : "";
    return `${item.class} ${item.machine?.name ?? item.kind}: ${decision.kind}${how}`;
  });
}
