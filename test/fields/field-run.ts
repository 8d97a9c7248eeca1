import { isCapstanError } from "../../src/api/error.js";
import { isJsonObject, type JsonObject } from "../../src/api/json.js";
import { localApiVersion } from "../../providers/local/specs.js";
import { apiVersion } from "../../src/api/schema.js";
import { driftAnnotations, fingerprintDigits } from "../../src/api/drift-policy.js";
import { type Desired, objectsOf } from "../../src/api/types.js";
import { holdOf } from "../../src/drift/hold.js";
import type { Hold } from "../../src/plan/plan.js";
import { rulesOfHealing } from "../../src/drift/plan-with-drift.js";
import { readDesired } from "../../src/manifest/desired.js";
import { objectsOfSample } from "../kube/field-samples.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeController } from "../support/fake-controller.js";
import { type CommandOutcome, type EngineSetup, FakeEngine } from "../support/fake-engine.js";
import { goingPods } from "../support/fake-pods.js";
import type { CommandFault } from "../support/faults.js";
import type { WatchedCall } from "../support/law-watch.js";
import { localProvider, machine, machineSet, type Manifest, textOf } from "../support/manifests.js";
import type { FieldTrial, TrialStep } from "./field-trial.js";

/** One change of a cloud: what was asked for, of which kind of resource. */
interface RunCall {
  readonly call: WatchedCall["call"];
  readonly kind: string;
  /** Without the digits that tell generations apart. */
  readonly name: string;
  readonly spec: JsonObject;
}

/** What became of one of a trial's clusters. */
export interface FieldRun {
  /** Codes of what reading it refused, or warned of. */
  readonly refused: readonly string[];
  readonly warned: readonly string[];
  readonly calls: readonly RunCall[];
  /** How each step ended, and when. */
  readonly ends: readonly string[];
  /** What is shown of it on an API server, apart from what its users wrote; nothing in files. */
  readonly shown: JsonObject;
}

export type Which = "one" | "other";

const key = "default/prod";
const plainTraits = { ...plainWorld, restarts: true, tellsTimes: true };
const pool = "pool";
/** Beside the object that a trial is about, so that no trial is about the last worker. */
const others: readonly Manifest[] = [
  machine("cp-0", { controlPlane: "1.34.2" }),
  machineSet(pool, 4),
  classOf("huge", { kind: "LocalMachineProviderSpec", size: "large" }),
  classOf("wide", { kind: "LocalClusterProviderSpec", networkCidr: "10.2.0.0/16" }),
];

function classOf(name: string, spec: JsonObject): Manifest {
  const providerSpec = { apiVersion: localApiVersion, ...spec };
  return { apiVersion, kind: "MachineClass", metadata: { name }, providerSpec };
}

const everyBoot = Array.from({ length: 40 }, (_, number) => number);

function objectsAt(trial: FieldTrial, which: Which, steps: readonly TrialStep[]): Manifest[] {
  const changes = steps.flatMap((step) => ("fields" in step ? [step.fields] : []));
  const fields = [trial.both ?? {}, trial[which], ...changes].reduce(laid, {});
  const objects = objectsOfSample({ kind: trial.kind, fields }, "default");
  const isGone = steps.some(({ kind }) => kind === "remove");
  const isAlone = steps.some(({ kind }) => kind === "removeOthers");
  const isFewer = steps.some(({ kind }) => kind === "fewerOthers");
  const alone = others.filter((one) => nameOf(one) !== pool);
  const beside = isAlone ? alone : isFewer ? [...alone, machineSet(pool, 3)] : others;
  return [...beside, ...(isGone ? objects.slice(0, -1) : objects)];
}

/** Members of the second over the first; lists are replaced. */
function laid(under: JsonObject, over: JsonObject): JsonObject {
  const entries = Object.entries(over).map(([name, value]) => {
    const below = under[name];
    const isBoth = isJsonObject(below) && isJsonObject(value);
    return [name, isBoth ? laid(below, value) : value] as const;
  });
  return { ...under, ...Object.fromEntries(entries) };
}

function faultsOf(step: TrialStep | undefined): CommandFault[] {
  if (step?.kind !== "changeBadly") return [];
  return everyBoot.map((number) => ({ at: "boot", number, what: step.boot }));
}

/** The steps so far after each of them, and none at first. */
function stagesOf({ steps = [] }: FieldTrial): (readonly TrialStep[])[] {
  return [[], ...steps.map((_, index) => steps.slice(0, index + 1))];
}

function read(objects: readonly Manifest[]) {
  const source = { file: "f.yaml", text: textOf(objects) };
  const { clusters, diagnostics } = readDesired([source], [localProvider()]);
  const codes = (severity: string) =>
    diagnostics.filter((one) => one.severity === severity).map(({ code }) => code);
  const [desired] = clusters;
  return { desired, refused: codes("error"), warned: codes("warning") };
}

/** Whoever applies manifests, at the time that it is then. */
function applying(setup: EngineSetup): FakeEngine {
  const driftRules = (desired: Desired) => rulesOfHealing(objectsOf(desired), engine.clock.now());
  const engine: FakeEngine = new FakeEngine({ ...setup, driftRules });
  return engine;
}

/** `capstan up` after each step. */
export async function runInFiles(trial: FieldTrial, which: Which): Promise<FieldRun> {
  const { refused, warned } = read(objectsAt(trial, which, []));
  const engine = keeping(trial, applying({ traits: traitsOf(trial), allow: [] }));
  const ends: string[] = [];
  const fingerprints = new Fingerprints();
  for (const stage of refused.length > 0 ? [] : stagesOf(trial)) {
    const step = stage.at(-1);
    await disturb(engine, trial, step);
    const objects = fingerprints.placed(objectsAt(trial, which, stage), which, step);
    const { desired, refused: later } = read(objects);
    const isDestroyed = trial.kind === "Cluster" && step?.kind === "remove";
    if (isDestroyed) {
      ends.push(endOf(await engine.destroy(), engine));
      continue;
    }
    if (desired === undefined || later.length > 0) {
      ends.push(`refused: ${later.join()}`);
      continue;
    }
    const held = await holdOn(engine, desired);
    const isHeld = held !== undefined && held.believed === undefined;
    ends.push(isHeld ? "held" : endOf(await engine.up(desired, faultsOf(step)), engine));
    fingerprints.note(held?.fingerprint);
  }
  return { refused, warned, calls: callsOf(engine), ends, shown: {} };
}

function traitsOf({ keeps }: FieldTrial) {
  return keeps === undefined ? plainTraits : { ...plainTraits, joins: true };
}

function keeping({ keeps }: FieldTrial, engine: FakeEngine): FakeEngine {
  const { hosts } = engine.cloud;
  if (keeps === "nothing") hosts.nodeSays = () => ({ kubelet: "1.34.2" });
  if (keeps === "pods") hosts.blockersOf = () => [{ pod: "default/a", why: "it stays" }];
  if (keeps === "pods that go") hosts.blockersOf = goingPods({ a: { app: "a" }, b: { app: "b" } });
  if (keeps === "volumes") hosts.volumesOf = () => ["default/data"];
  if (keeps === "Nodes") hosts.keepsNode = () => true;
  return engine;
}

function endOf(outcome: CommandOutcome, { clock }: FakeEngine): string {
  const at = clock.now();
  switch (outcome.kind) {
    case "done":
    case "killed":
      return `${outcome.kind} at ${at}`;
    case "broke":
      return `broke: ${outcome.error.code} at ${at}`;
    case "rolledBack":
    case "stopped":
      return `${outcome.kind}: ${outcome.failure.code} at ${at}`;
  }
}

async function disturb(
  engine: FakeEngine,
  trial: FieldTrial,
  step: TrialStep | undefined,
): Promise<void> {
  if (step?.kind === "wait") await engine.clock.sleep(step.ms);
  if (step?.kind === "ail") ail(engine, step);
  if (step?.kind !== "lose") return;
  const about = nameOf(objectsAt(trial, "one", []).at(-1));
  const hosts = engine
    .hosts()
    .filter(({ who }) => trial.kind === "Cluster" || who.name.startsWith(`${about}-`));
  for (const { id } of hosts.slice(-step.hosts)) engine.cloud.kill(id);
}

function ail(
  { cloud, clock }: FakeEngine,
  { hosts, says }: Extract<TrialStep, { kind: "ail" }>,
): void {
  const sick = new Set(
    cloud
      .alive()
      .filter(({ who }) => who.kind === "LocalHost")
      .slice(-hosts)
      .map(({ who }) => who.name),
  );
  const lastTransitionTime = new Date(clock.now()).toISOString();
  if (says === "noNode") cloud.hosts.hasJoined = (host) => !sick.has(host);
  else {
    const { nodeSays } = cloud.hosts;
    cloud.hosts.nodeSays = (host) => {
      const said = nodeSays(host);
      if (said === undefined || !sick.has(host)) return said;
      return { ...said, conditions: [{ ...says, lastTransitionTime }] };
    };
  }
}

async function holdOn(engine: FakeEngine, desired: Desired): Promise<Hold | undefined> {
  const { provider, prior } = engine;
  const sight = await engine.sight();
  if ("failed" in sight) throw new Error(sight.failed);
  return holdOf(prior, sight, { provider, objects: objectsOf(desired) });
}

/** What the cloud shows, as plans name it when they are held by it. */
class Fingerprints {
  private last = "0".repeat(fingerprintDigits);

  note(fingerprint: string | undefined): void {
    this.last = fingerprint ?? this.last;
  }

  /** With the word of somebody who believes it, on the Cluster. */
  placed(objects: readonly Manifest[], which: Which, step: TrialStep | undefined): Manifest[] {
    if (step?.kind !== "thaw" || which === "one") return [...objects];
    return objects.map((object) =>
      object["kind"] === "Cluster"
        ? { ...object, metadata: laid(object["metadata"] as JsonObject, this.word()) }
        : object,
    );
  }

  private word(): JsonObject {
    return { annotations: { [driftAnnotations.thaw]: this.last } };
  }
}

/** The watch loop until it rests, after each step. */
export async function runOnServer(trial: FieldTrial, which: Which): Promise<FieldRun> {
  const world = keeping(trial, new FakeEngine({ traits: traitsOf(trial) }));
  const controller = new FakeController(world);
  const { server } = controller;
  const ends: string[] = [];
  const fingerprints = new Fingerprints();
  const name = `${trial.kind} ${nameOf(objectsAt(trial, which, []).at(-1))}`;
  for (const stage of stagesOf(trial)) {
    const step = stage.at(-1);
    await disturb(world, trial, step);
    // As whoever looks at Nodes does.
    if (step?.kind === "ail") controller.cluster.unsettled();
    controller.meet(...faultsOf(step));
    if (step?.kind === "remove") server.delete(name);
    if (step?.kind === "removeOthers") server.delete(`MachineSet ${pool}`);
    server.apply(...fingerprints.placed(objectsAt(trial, which, stage), which, step));
    const outcome = await controller.settle();
    ends.push(`${outcome.kind} at ${world.clock.now()}`);
    const { drift } = server.find("Cluster prod")?.status ?? {};
    fingerprints.note((drift as { fingerprint?: string } | undefined)?.fingerprint);
  }
  const intent = controller.source.intentOf(key);
  const refused = intent.kind === "invalid" ? intent.diagnostics.map(({ code }) => code) : [];
  return { refused, warned: [], calls: callsOf(world), ends, shown: shownOn(controller) };
}

function nameOf(manifest: Manifest | undefined): string {
  return (manifest?.["metadata"] as { name: string }).name;
}

/** Derived objects, and statuses of all; nothing of when something was. */
function shownOn({ server }: FakeController): JsonObject {
  const shown = server.all().map((object) => {
    const { kind, metadata, spec, status } = object;
    const isDerived = metadata.ownerReferences?.some(({ controller }) => controller) === true;
    const { labels, annotations } = metadata;
    const own = isDerived ? { labels, annotations, spec } : {};
    return [`${kind} ${metadata.name}`, { ...own, status }] as const;
  });
  return timeless(JSON.parse(JSON.stringify(Object.fromEntries(shown)))) as JsonObject;
}

function timeless(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(timeless);
  if (typeof value === "string") return value.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "then");
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, timeless(one)]));
}

function callsOf({ calls }: FakeEngine): RunCall[] {
  return calls.map(({ call, key, spec }) => {
    const [kind = "", name = ""] = key.split("/");
    return { call, kind, name: name.replace(/-[0-9a-f]{8}\b/g, ""), spec: spec ?? {} };
  });
}

/** What a plan says of going from one to the other; the code of its refusal. */
export async function changeOf(trial: FieldTrial): Promise<string> {
  const from = read(objectsAt(trial, "one", []));
  const to = read(objectsAt(trial, "other", []));
  if (from.desired === undefined || from.refused.length + to.refused.length > 0) return "";
  const engine = applying({ traits: plainTraits });
  await engine.settle(from.desired);
  if (to.desired === undefined) return "";
  try {
    const { infrastructure, machines } = await engine.plan(to.desired);
    const kinds = new Set([...infrastructure, ...machines].map(({ kind }) => kind));
    return [...kinds]
      .filter((kind) => kind !== "same")
      .sort()
      .join(", ");
  } catch (error) {
    if (!isCapstanError(error)) throw error;
    return `refused: ${error.code}`;
  }
}
