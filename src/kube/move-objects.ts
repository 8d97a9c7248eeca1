import { sameJson } from "../api/json.js";
import { pausedAnnotation } from "../api/pause.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { AnyObject } from "../api/types.js";
import { releasedClasses, withoutClasses } from "./machine-classes.js";
import { controllerOf, isDeleting, type LiveCluster, type LiveObject } from "./live-object.js";
import {
  type ApiWrite,
  clusterFinalizer,
  machineFinalizer,
  type NewObject,
  patched,
  released,
} from "./api-write.js";

// What `capstan move` does to the objects of one cluster. Pure.

const movingPrefix = "capstan move ";

const before = "; before it: ";

/**
 * The pause of one attempt to move: who paused it can be told from others, and from itself earlier. It keeps what somebody else has
 * paused the Cluster for.
 */
export function movingMark(attempt: string, reason?: string): string {
  return `${movingPrefix}${attempt}${reason === undefined ? "" : `${before}${reason}`}`;
}

/** What the Cluster is paused for once a move's pause is gone: null where nobody else has paused it. */
export function pauseBefore(mark: string): string | null {
  const at = mark.indexOf(before);
  return at < 0 ? null : mark.slice(at + before.length);
}

/** Why a Cluster is paused; undefined where it is not. */
export function pauseOf(cluster: LiveObject | undefined): string | undefined {
  return cluster?.metadata.annotations?.[pausedAnnotation];
}

/** Whether a move has paused the Cluster, and has not come to its end. */
export function isMoving(cluster: LiveObject | undefined): boolean {
  return pauseOf(cluster)?.startsWith(movingPrefix) === true;
}

/** Pauses a Cluster, or goes on with it; whatever else has changed in it meanwhile. */
export function pausing(on: LiveObject, mark: string | null): ApiWrite {
  const annotations = { [pausedAnnotation]: mark };
  return { kind: "patch", on, patch: { metadata: { uid: on.metadata.uid, annotations } } };
}

/**
 * The writes, in their order, that make an API server hold the objects of a cluster: the Cluster first, and
 * paused, so that nobody acts on what is not complete. What an earlier attempt made is brought up to date.
 */
export function arrivalOf(
  objects: readonly AnyObject[],
  { cluster, members, drainRules }: LiveCluster,
  mark: string,
): ApiWrite[] {
  const live = new Map(
    [...(cluster === undefined ? [] : [cluster]), ...members, ...drainRules].map((one) => [
      placeOf(one),
      one,
    ]),
  );
  const isCluster = ({ kind }: AnyObject) => kind === "Cluster";
  const inOrder = [...objects.filter(isCluster), ...objects.filter((one) => !isCluster(one))];
  return inOrder.flatMap((object): ApiWrite[] => {
    const wanted = newObject(object, isCluster(object) ? { [pausedAnnotation]: mark } : {});
    const there = live.get(placeOf(object));
    if (there === undefined) return [{ kind: "create", object: wanted }];
    const { metadata, spec } = wanted;
    return patched(there, { metadata: { ...there.metadata, ...metadata }, spec });
  });
}

/** Users' objects that say they belong to the cluster and are not among these, and rules that say otherwise than these. */
export function foreignAmong(
  objects: readonly AnyObject[],
  { members, drainRules }: Pick<LiveCluster, "members" | "drainRules">,
): LiveObject[] {
  const known = new Map(objects.map((one) => [placeOf(one), one]));
  const others = members.filter(
    (one) => controllerOf(one) === undefined && !known.has(placeOf(one)),
  );
  const otherRules = drainRules.filter((one) => {
    const moved = known.get(placeOf(one));
    return moved !== undefined && !sameJson(one.spec ?? {}, newObject(moved, {}).spec);
  });
  return [...others, ...otherRules];
}

function placeOf({ kind, metadata }: Pick<LiveObject, "kind"> & { metadata: { name: string } }) {
  return `${kind}/${metadata.name}`;
}

function newObject(object: AnyObject, more: Readonly<Record<string, string>>): NewObject {
  const { apiVersion, kind, metadata, spec } = withoutClasses(object) as unknown as LiveObject;
  const { name, namespace, labels, annotations } = metadata;
  const all = { ...annotations, ...more };
  return {
    apiVersion,
    kind,
    metadata: omitUndefined({
      name,
      namespace,
      labels,
      annotations: Object.keys(all).length > 0 ? all : undefined,
    }),
    spec: spec ?? {},
  };
}

/** From the makers to the made, so that nobody makes anew what goes. */
const departures = [
  "MachineHealthCheck",
  "MachineDeployment",
  "MachineSet",
  "Machine",
  "Cluster",
] as const;

/**
 * The next writes that take a cluster's objects out of an API server although its hosts run on. First every
 * object is deleted and then it is let go, since finalizers come back on what is not being deleted. None:
 * nothing of it is left, or others hold what is.
 */
export function departureOf(live: LiveCluster): ApiWrite[] {
  const { cluster, members } = live;
  const all: readonly LiveObject[] = [...members, ...(cluster === undefined ? [] : [cluster])];
  for (const kind of departures) {
    const left = all.filter((one) => one.kind === kind);
    if (left.length > 0) return [...releasedClasses(live), ...left.flatMap(leaving)];
  }
  return [];
}

function leaving(on: LiveObject): ApiWrite[] {
  if (!isDeleting(on)) return [{ kind: "delete", on }];
  return released(on, [clusterFinalizer, machineFinalizer]);
}
