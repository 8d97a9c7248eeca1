import { isDeepStrictEqual } from "node:util";
import {
  type CloudRow,
  type Deployment,
  judge,
  type LedgerRow,
  machineOf,
} from "../../scenario/ledger-judge.js";
import { judgeWanted } from "../../scenario/wanted-judge.js";
import { type ManifestObject, wantedMachines } from "../targets.js";
import type { PlaceVerdict } from "../verdict.js";
import type { GateRow } from "./api-gate.js";
import type { ApiWriteRow } from "./api-write.js";

// The judge of watch chaos. It reads the cloud's table and ledger, Pulumi's state, the API server's objects and what went
// through the gate, and imports nothing of the product.

type Fields = Readonly<Record<string, unknown>>;

/** An object as an API server shows it. */
export interface JudgedObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly generation?: number;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly name: string; readonly kind: string }[];
  };
  readonly spec: Fields;
  readonly status?: Fields;
}

/** Everything that there is to see of one cluster when it has come to rest. */
export interface ShownWorld {
  /** The cluster's own, terminated ones too. */
  readonly rows: readonly CloudRow[];
  readonly objects: readonly JudgedObject[];
  /** What its users want; undefined where it is to be gone. */
  readonly wanted: readonly ManifestObject[] | undefined;
  /** The objects that there are when nobody disturbs it, as "MachineSet workers-..."; undefined where that is not known. */
  readonly names: readonly string[] | undefined;
}

export const nothingFound: PlaceVerdict = {
  duplicates: [],
  orphans: [],
  missing: [],
  wrongContent: [],
  pending: [],
  unwanted: [],
  stuck: [],
  laws: [],
};

/** Cloud and objects against what is wanted; no engine has to be asked for it. Pure. */
export function judgeShown(world: ShownWorld): string[] {
  const { rows, objects, wanted } = world;
  const alive = rows.filter(({ state, token }) => state !== "terminated" && token !== "");
  if (wanted === undefined) {
    return [
      ...alive.map(({ name, id }) => `${name} (${id}) lives, nothing should`),
      ...objects.map((one) => `${titleOf(one)} is still there`),
    ];
  }
  return [
    ...judgeWanted(rows, wantedMachines(wanted)),
    ...lostWords(objects, wanted),
    ...objectsOutOfPlace(world),
    ...machineProblems(objects, alive),
    ...setProblems(objects, wanted),
    ...clusterProblems(objects, alive),
  ];
}

/** The same, and Pulumi's state. Pure. */
export function judgeSettled(world: ShownWorld, deployment: Deployment): PlaceVerdict {
  const judged = judge(world.rows, deployment);
  const unwanted = [...judgeShown(world), ...recordProblems(world, deployment)];
  return { ...nothingFound, ...judged, unwanted };
}

function titleOf({ kind, metadata }: Pick<JudgedObject, "kind" | "metadata">): string {
  return `${kind} ${metadata.name}`;
}

/** "MachineSet workers-..." of all objects, in order. */
export function namesOf(objects: readonly JudgedObject[]): string[] {
  return objects.map(titleOf).sort();
}

/** What a user wrote, and is not there any more. */
function lostWords(objects: readonly JudgedObject[], wanted: readonly ManifestObject[]): string[] {
  return wanted.flatMap(({ kind, metadata, spec }) => {
    const found = objects.find((one) => one.kind === kind && one.metadata.name === metadata.name);
    if (found === undefined) return [`${kind} ${metadata.name} is gone`];
    if (found.metadata.deletionTimestamp !== undefined) return [`${titleOf(found)} is going`];
    return holds(found.spec, spec) ? [] : [`${titleOf(found)} has lost what its user wrote`];
  });
}

/** Whether everything of one value is in another, which may hold more. */
function holds(all: unknown, some: unknown): boolean {
  if (typeof some !== "object" || some === null || Array.isArray(some)) {
    return isDeepStrictEqual(all, some);
  }
  if (typeof all !== "object" || all === null) return false;
  return Object.entries(some).every(([key, value]) => holds((all as Fields)[key], value));
}

function objectsOutOfPlace({ objects, names }: ShownWorld): string[] {
  const there = namesOf(objects);
  if (names === undefined || isDeepStrictEqual(there, [...names])) return [];
  return [`there are ${there.join(", ")}; undisturbed there are ${names.join(", ")}`];
}

/** Each Machine has its one host and says so, and each host its Machine. */
function machineProblems(objects: readonly JudgedObject[], alive: readonly CloudRow[]): string[] {
  const hosts = alive.filter(({ kind }) => kind === "LocalHost");
  const machines = objects.filter(({ kind }) => kind === "Machine");
  return [
    ...machines.flatMap((machine) => {
      const { status = {}, metadata } = machine;
      const host = hosts.find(({ name }) => machineOf(name) === metadata.name);
      if (host === undefined) return [`${titleOf(machine)} has no host`];
      const shown = status["providerStatus"] as Fields | undefined;
      const node = status["nodeRef"] as Fields | undefined;
      return [
        ...problem(status["phase"] === "Running", `it says that it is ${String(status["phase"])}`),
        ...problem(shown?.["id"] === host.id, `it shows host ${String(shown?.["id"])}`),
        ...problem(node?.["name"] === host.name, `its node is ${String(node?.["name"])}`),
        ...problem(metadata.deletionTimestamp === undefined, "it is going"),
        ...problem(
          isDeepStrictEqual(metadata.finalizers, ["machine.cluster.k8s.io"]),
          `its finalizers are ${JSON.stringify(metadata.finalizers)}`,
        ),
        ...problem(status["errorReason"] === undefined, String(status["errorMessage"])),
      ].map((text) => `${titleOf(machine)}: ${text}`);
    }),
    ...hosts
      .filter(({ name }) => !machines.some(({ metadata }) => metadata.name === machineOf(name)))
      .map(({ name }) => `host ${name} has no Machine`),
  ];
}

/** Counts in statuses are those of hosts, which the other parts of the judge have compared with what is wanted. */
function setProblems(
  objects: readonly JudgedObject[],
  wanted: readonly ManifestObject[],
): string[] {
  return wanted
    .filter(({ kind }) => kind === "MachineDeployment")
    .flatMap(({ kind, metadata, spec }) => {
      const replicas = Number(spec["replicas"] ?? 1);
      const owner = objects.find((one) => one.kind === kind && one.metadata.name === metadata.name);
      if (owner === undefined) return [];
      const sets = objects.filter(
        ({ kind: one, metadata: { ownerReferences = [] } }) =>
          one === "MachineSet" && ownerReferences.some(({ name }) => name === metadata.name),
      );
      const used = sets.filter((set) => Number(set.spec["replicas"] ?? 0) > 0);
      const counted = ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"];
      return [
        ...problem(used.length === 1, `${titleOf(owner)} has ${used.length} sets in use`),
        ...wrongCounts(owner, counted, replicas),
        ...used.flatMap((set) =>
          wrongCounts(set, ["replicas", "readyReplicas", "availableReplicas"], replicas),
        ),
        ...behind(owner),
      ];
    });
}

function wrongCounts(object: JudgedObject, fields: readonly string[], want: number): string[] {
  return fields
    .filter((field) => Number(object.status?.[field] ?? 0) !== want)
    .map(
      (field) =>
        `${titleOf(object)} says ${field} ${String(object.status?.[field])}, there are ${want}`,
    );
}

function behind(object: JudgedObject): string[] {
  const { status = {}, metadata } = object;
  const observed = status["observedGeneration"];
  return problem(
    observed === metadata.generation,
    `${titleOf(object)} has seen generation ${String(observed)} of ${metadata.generation}`,
  );
}

function clusterProblems(objects: readonly JudgedObject[], alive: readonly CloudRow[]): string[] {
  const clusters = objects.filter(({ kind }) => kind === "Cluster");
  return clusters.flatMap((cluster) => {
    const { status = {}, metadata } = cluster;
    const { annotations = {} } = metadata;
    const hosts = alive.filter(({ kind }) => kind === "LocalHost").length;
    const { summary } = (status["machines"] ?? {}) as { readonly summary?: string };
    const uids = new Set(alive.map(({ clusterUid }) => clusterUid));
    return [
      ...problem(status["phase"] === "Running", `it says that it is ${String(status["phase"])}`),
      ...problem(status["transaction"] === undefined, "it shows a transaction"),
      ...problem(status["drift"] === undefined, "it shows drift"),
      ...problem(status["errorReason"] === undefined, String(status["errorMessage"])),
      ...problem(summary === `${hosts}/${hosts}`, `it says ${summary}, there are ${hosts} hosts`),
      ...problem(
        isDeepStrictEqual(metadata.finalizers, ["cluster.cluster.k8s.io"]),
        `its finalizers are ${JSON.stringify(metadata.finalizers)}`,
      ),
      ...problem(
        annotations["capstan.dev/bound-to"] === metadata.uid,
        `it is bound to ${annotations["capstan.dev/bound-to"]}`,
      ),
      ...problem(
        isDeepStrictEqual([...uids], [annotations["capstan.dev/cluster-uid"]]),
        `it remembers ${annotations["capstan.dev/cluster-uid"]}, the cloud has ${[...uids].join()}`,
      ),
      ...behind(cluster),
    ].map((text) => (text.startsWith("Cluster") ? text : `${titleOf(cluster)}: ${text}`));
  });
}

/** What the objects say of the records. */
function recordProblems({ objects, wanted }: ShownWorld, { resources = [] }: Deployment): string[] {
  const numberOf = (type: string) =>
    resources.find((one) => one.type.endsWith(`:${type}`))?.inputs?.["number"];
  if (wanted === undefined) {
    const left = resources.filter(({ type }) => type.includes("capstan:"));
    return left.map(({ urn }) => `${urn} is still recorded`);
  }
  const [transaction, revision] = [numberOf("Transaction"), numberOf("Revision")];
  const shown = objects.find(({ kind }) => kind === "Cluster")?.status?.["revision"];
  return [
    ...problem(transaction === revision, `transaction ${String(transaction)} is open`),
    ...problem(shown === revision, `revision ${String(revision)} is shown as ${String(shown)}`),
  ];
}

function problem(isRight: boolean, text: string): string[] {
  return isRight ? [] : [text];
}

/** Nothing is let go before what it stands for is gone: to be asked at the very moment of a write. Pure. */
export function finalizerProblems(
  { what, name }: ApiWriteRow,
  rows: readonly CloudRow[],
): string[] {
  if (what !== "letGo") return [];
  const [kind, object] = name.split(" ");
  const alive = rows.filter(({ state }) => state !== "terminated");
  const left =
    kind === "Cluster"
      ? alive
      : alive.filter(
          ({ kind: one, name: host }) => one === "LocalHost" && machineOf(host) === object,
        );
  return left.map(({ name: one }) => `${name} is let go while ${one} lives`);
}

/** All that happened to one cluster, by ledger and gate. */
export interface WatchCourse {
  /** The cluster's own entries, from its beginning on. */
  readonly ledger: readonly LedgerRow[];
  readonly gate: readonly GateRow[];
  /** The doors of controllers by their pids. */
  readonly doors: ReadonlyMap<number, string>;
  /** How many machines each deployment may ever have at once. */
  readonly most: ReadonlyMap<string, number>;
}

/** What no picture shows. Pure. */
export function watchLaws(course: WatchCourse): string[] {
  return [...crowds(course), ...calledOutOfTurn(course), ...calledUnclaimed(course)];
}

/** At no moment two living hosts of one machine, or more of a deployment than its surge allows. */
function crowds({ ledger, most }: WatchCourse): string[] {
  const hosts = new Map<string, string>();
  const found = new Set<string>();
  for (const { kind, effect, id, name } of ledger) {
    if (kind !== "LocalHost" || id === null || name === null) continue;
    if (effect === "terminated") hosts.delete(id);
    if (effect !== "created") continue;
    hosts.set(id, machineOf(name));
    const machines = [...hosts.values()];
    if (machines.filter((one) => one === machineOf(name)).length > 1) {
      found.add(`two hosts of ${machineOf(name)} live at once`);
    }
    for (const [deployment, limit] of most) {
      const count = machines.filter((one) => one.startsWith(`${deployment}-`)).length;
      if (count > limit) found.add(`${count} hosts of ${deployment} live at once, not ${limit}`);
    }
  }
  return [...found];
}

const changing = ["created", "updated", "terminated"];

/** Of calls that the cloud has delayed, not the one time that each of them was carried out. */
function withoutDelayed(ledger: readonly LedgerRow[]): LedgerRow[] {
  const delayed: string[] = [];
  return ledger.filter(({ pid, call, name, effect }) => {
    const key = `${pid} ${call} ${name}`;
    if (effect === "delayed") delayed.push(key);
    const at = changing.includes(effect) ? delayed.indexOf(key) : -1;
    if (at < 0) return true;
    delayed.splice(at, 1);
    return false;
  });
}

/**
 * Who has lost the lease changes nothing in the cloud from the moment on in which another one has it. What the cloud was asked for before
 * and has carried out late was on its way.
 */
function calledOutOfTurn({ ledger, gate, doors }: WatchCourse): string[] {
  const terms = gate.filter(({ what, status }) => what === "lease" && status < 300);
  return withoutDelayed(ledger)
    .filter(({ effect, fault }) => changing.includes(effect) && fault?.includes("late") !== true)
    .flatMap(({ pid, atMs = 0, call, name }) => {
      const door = doors.get(pid);
      const holder = terms.findLast(({ doneMs = Infinity }) => doneMs < atMs)?.door;
      if (door === undefined || holder === undefined || door === holder) return [];
      return [`${door} did ${call} ${name} while ${holder} led`];
    });
}

/** A Cluster has its finalizer before anything of it is made. */
function calledUnclaimed({ ledger, gate }: WatchCourse): string[] {
  const claim = gate.find(
    ({ what, name, status }) => what === "claim" && name.startsWith("Cluster ") && status < 300,
  );
  const first = ledger.find(({ effect }) => effect === "created");
  if (first === undefined) return [];
  const isFirst = (claim?.doneMs ?? Infinity) <= (first.atMs ?? 0);
  return isFirst ? [] : [`${first.name} was made before its Cluster was claimed`];
}
