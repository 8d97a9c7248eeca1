import { cutTo } from "../api/bounded-text.js";
import { digestOf } from "../api/digest.js";
import { isJsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { pausedAnnotation } from "../api/pause.js";
import { isProtecting } from "../api/protection.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import { findServed, presentApiVersion } from "../api/served-versions.js";
import type { Annotations } from "../api/update-policy.js";
import { type Manifests, type NamedObject, readObjects } from "../manifest/desired.js";
import { machineAnnotationsAmong } from "../api/machine-annotations.js";
import type { MachineAnnotations } from "../records/host-machine.js";
import { deleteMarksAmong } from "../api/delete-marks.js";
import type { IntentDetails, Intent } from "../source/intent.js";
import { boundToAnnotation, clusterUidAnnotation, writtenAnnotations } from "./field-owners.js";
import type { IdentitySource } from "./identity-cache.js";
import {
  controllerOf,
  isDeleting,
  type LiveCluster,
  type LiveObject,
  liveName,
} from "./live-object.js";
import { keptGoalOf, type WrittenObject } from "./kept-goal.js";
import { classesNamedBy } from "./machine-classes.js";

/** What tools write about their own work: a change of it is no change of the goal. */
const foreignAnnotations = /^(kubectl\.kubernetes\.io|deployment\.kubernetes\.io)\//;
/** The longest reason for a pause: it is text for people. */
const longestReason = 1_024;

/** The provider of an object that may be wrong in every way. */
function providerNamedBy(
  { spec }: LiveObject,
  providers: readonly ProviderSpecs[],
): string | undefined {
  const { providerSpec } = isJsonObject(spec) ? spec : {};
  const value = isJsonObject(providerSpec) ? providerSpec["value"] : undefined;
  const apiVersion = isJsonObject(value) ? value["apiVersion"] : undefined;
  const present = presentApiVersion(providers, apiVersion) ?? apiVersion;
  return findServed(providers, present)?.provider.name;
}

/**
 * What the objects of one Cluster ask for. Objects that others of them have made, and objects that are
 * being deleted, are no goals; a derived Machine that is being deleted is one to be replaced. Pure.
 */
export function intentOf(
  live: LiveCluster,
  providers: readonly ProviderSpecs[],
  identities?: IdentitySource,
): Intent {
  const { cluster, members } = live;
  if (cluster === undefined) return { kind: "absent", digest: "absent" };
  const given = cluster.metadata.annotations?.[pausedAnnotation];
  const paused = given === undefined ? undefined : cutTo(given, longestReason);
  if (paused !== undefined) return { kind: "paused", reason: paused, digest: `paused ${paused}` };
  const memory = uidMemoryOf(cluster);
  const { released, held } = goingIn(live);
  const liveAnnotations = ownAnnotationsIn(live);
  if (isDeleting(cluster)) {
    const waitsFor = [...held, ...said(liveAnnotations)];
    const digest = waitsFor.length === 0 ? "remove" : `remove ${digestOf(waitsFor, 16)}`;
    // Refusing is all that follows from it, so an annotation without a binding counts here.
    const uid = memory.kind === "none" ? {} : { clusterUid: memory.clusterUid };
    const provider = providerNamedBy(cluster, providers);
    return omitUndefined({ kind: "remove", digest, released, liveAnnotations, provider, ...uid });
  }
  const derived = members.filter(
    (member) => member.kind === "Machine" && controllerOf(member) !== undefined,
  );
  const discarded = derived
    .filter(isDeleting)
    .filter(({ metadata }) => !isProtecting(metadata.annotations))
    .map(({ metadata }) => metadata.name)
    .sort();
  const shared = identities?.objects() ?? [];
  const labelsOf = (namespace: string) => identities?.labelsOf(namespace) ?? {};
  // An identity that is wrong is told of at Clusters that name it, and stops no other one.
  const others = new Set(shared.map(({ name }) => name));
  const read = (objects: readonly NamedObject[]): Manifests => {
    const { diagnostics, ...rest } = readObjects(
      structuredClone([...objects, ...shared]),
      providers,
      labelsOf,
    );
    return {
      ...rest,
      diagnostics: diagnostics.filter(({ position }) => !others.has(position.file)),
    };
  };
  const written = objectsIn(cluster, live);
  const { clusters, diagnostics } = read(written);
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const [desired] = clusters;
  const asked: IntentDetails = omitUndefined({
    // Whoever refuses one of them names the object, and there is no other place.
    positionOf: () => undefined,
    discarded,
    warnings: diagnostics.filter(({ severity }) => severity !== "error"),
    deleteMarks: deleteMarksIn(derived),
    liveAnnotations,
    released,
    clusterUid: memory.kind === "bound" ? memory.clusterUid : undefined,
  });
  // Marks are no goal of their own: they say who goes when something else asks for fewer Machines. A hook that is gone lets go.
  const marks = [discarded, ...[held].filter(({ length }) => length > 0), ...said(liveAnnotations)];
  if (errors.length > 0 || desired === undefined) {
    const values = written.map(({ value }) => value);
    return {
      kind: "invalid",
      ...asked,
      diagnostics: errors,
      keptGoal: (accepted) => keptGoalOf({ written, accepted, read }),
      digest: digestOf([errors, values, ...marks], 16),
    };
  }
  return { kind: "want", ...asked, desired, digest: digestOf([desired, ...marks], 16) };
}

function deleteMarksIn(machines: readonly LiveObject[]): Record<string, Annotations> {
  const marked = machines.flatMap(({ metadata }) => {
    const marks = deleteMarksAmong(metadata.annotations);
    return marks === undefined ? [] : [[metadata.name, marks] as const];
  });
  return Object.fromEntries(marked);
}

/** Of all Machines, also those that are being deleted: what is on the object counts, whatever it was made from. */
function ownAnnotationsIn({ members }: LiveCluster): MachineAnnotations {
  const machines = members.filter(({ kind }) => kind === "Machine");
  return Object.fromEntries(
    machines.map(({ metadata }) => [metadata.name, machineAnnotationsAmong(metadata.annotations)]),
  );
}

/** Those that say something, in a fixed order. */
function said(annotations: MachineAnnotations): unknown[] {
  return Object.entries(annotations)
    .filter(([, its]) => Object.keys(its).length > 0)
    .sort(([one], [other]) => (one < other ? -1 : 1));
}

/** What a Cluster remembers of its UID in the cloud. */
type UidMemory =
  /** Nothing, or what was written on another object and copied. */
  | { readonly kind: "none" }
  /** As versions before the binding wrote it: the object's own or a copy, nobody can tell. */
  | { readonly kind: "unbound"; readonly clusterUid: string }
  | { readonly kind: "bound"; readonly clusterUid: string };

function uidMemoryOf({ metadata }: LiveObject): UidMemory {
  const { [clusterUidAnnotation]: clusterUid, [boundToAnnotation]: boundTo } =
    metadata.annotations ?? {};
  if (clusterUid === undefined) return { kind: "none" };
  if (boundTo === undefined) return { kind: "unbound", clusterUid };
  return boundTo === metadata.uid ? { kind: "bound", clusterUid } : { kind: "none" };
}

/**
 * Objects that are being deleted, or whose Cluster is: no apply can take a protection away from them any
 * more, but whoever takes the annotation away can. Those that carry it now are held, others released.
 */
function goingIn({ cluster, members }: LiveCluster): Record<"released" | "held", string[]> {
  const isGoing = cluster !== undefined && isDeleting(cluster);
  const going = [...(cluster === undefined ? [] : [cluster]), ...members].filter(
    (one) => isGoing || isDeleting(one),
  );
  const isHeld = ({ metadata }: LiveObject) => isProtecting(metadata.annotations);
  return {
    released: going
      .filter((one) => !isHeld(one))
      .map(liveName)
      .sort(),
    held: going.filter(isHeld).map(liveName).sort(),
  };
}

/** What a cluster's objects ask for, paused or not; undefined without a Cluster. Pure. */
export function intentOfPaused(
  { cluster, ...rest }: LiveCluster,
  providers: readonly ProviderSpecs[],
): Manifests | undefined {
  if (cluster === undefined) return undefined;
  const { [pausedAnnotation]: _paused, ...annotations } = cluster.metadata.annotations ?? {};
  const unpaused = { ...cluster, metadata: { ...cluster.metadata, annotations } };
  return readObjects(structuredClone(objectsIn(unpaused, rest)), providers);
}

/**
 * The Cluster, what users wrote of it, the classes that these name, and how its pods are drained. Other classes of the namespace are no matter of it: they may be wrong, of a
 * provider that nobody knows here, or many, and are not read.
 */
function objectsIn(
  cluster: LiveObject,
  { members, classes, drainRules }: Pick<LiveCluster, "members" | "classes" | "drainRules">,
): WrittenObject[] {
  const written = members.filter(
    (member) => controllerOf(member) === undefined && !isDeleting(member),
  );
  const used = classesNamedBy([cluster, ...written], classes).sort(byName);
  const rules = drainRules.filter((rule) => !isDeleting(rule)).sort(byName);
  return [cluster, ...written.sort(byName), ...used, ...rules].map((object) => ({
    ...namedObjectOf(object),
    uses: classesNamedBy([object], classes).map(liveName),
  }));
}

/** The object as its user wrote it, as far as anybody can tell. */
function namedObjectOf(object: LiveObject): NamedObject {
  const { apiVersion, kind, metadata, spec, providerSpec } = object;
  const { name, namespace, labels, annotations = {} } = metadata;
  const own = Object.entries(annotations).filter(
    ([key]) => !foreignAnnotations.test(key) && !writtenAnnotations.includes(key),
  );
  const value = omitUndefined({
    apiVersion,
    kind,
    metadata: omitUndefined({
      name,
      namespace,
      labels,
      annotations: own.length > 0 ? Object.fromEntries(own) : undefined,
    }),
    spec,
    providerSpec,
  });
  return { name: liveName(object), value };
}

function byName(left: LiveObject, right: LiveObject): number {
  const [former, latter] = [liveName(left), liveName(right)];
  return former < latter ? -1 : former > latter ? 1 : 0;
}
