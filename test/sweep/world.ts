import type { Observed } from "../../src/provider/port.js";
import { nodeKey } from "../../src/graph/graph.js";
import type { RecordedResource } from "../../src/records/prior-state.js";
import type { KnownCluster } from "../../src/sweep/clusters.js";
import type { SweepConsent } from "../../src/sweep/decide.js";
import { type StackView, wantedKey } from "../../src/sweep/stack-view.js";

// Small worlds for the tests of sweep: what is in a cloud, and what stacks know of it.

export const nowMs = 10_000_000_000;
export const minuteMs = 60_000;

/** Of a person who has only asked for garbage to go. */
export const noConsent: SweepConsent = { lostClusters: [], keptData: false };

export interface ResourceShape {
  readonly id?: string;
  readonly uid?: string;
  readonly cluster?: string;
  readonly name?: string;
  readonly phase?: Observed["phase"];
  /** Absent: the cloud does not tell. */
  readonly ageMinutes?: number | undefined;
}

/** A host of uid-1, two hours old, unless the shape says otherwise. */
export function resource(shape: ResourceShape = {}): Observed {
  const { id = "h-1", uid = "uid-1", cluster = "default/prod", name = "web-0" } = shape;
  const ageMinutes = "ageMinutes" in shape ? shape.ageMinutes : 120;
  return {
    id,
    who: { cluster, clusterUid: uid, kind: "LocalHost", name, token: `${uid} ${name}` },
    phase: shape.phase ?? "ready",
    spec: {},
    status: {},
    ...(ageMinutes !== undefined && { createdAtMs: nowMs - ageMinutes * minuteMs }),
  };
}

/** The record of a host whose name is its id. */
export function recorded(id: string, more: Partial<RecordedResource> = {}): RecordedResource {
  return {
    urn: id,
    key: nodeKey("LocalHost", id),
    kind: "LocalHost",
    name: id,
    id,
    type: "resource",
    inputs: {},
    secretInputs: [],
    outputs: {},
    dependsOn: [],
    unfinished: false,
    deleting: false,
    ...more,
  };
}

export interface ViewShape {
  readonly stack?: string;
  /** The cluster that it holds; none when null. */
  readonly uid?: string | null;
  readonly ids?: readonly string[];
  /** Names of hosts. */
  readonly wants?: readonly string[];
  readonly busy?: string;
  /** Names of hosts that were made after all that it tells. */
  readonly newer?: readonly string[];
  /** Ids of copies of what its transaction has deleted. */
  readonly copies?: readonly string[];
}

/** A stack that was read and holds uid-1, unless the shape says otherwise. */
export function view(shape: ViewShape = {}): StackView {
  const { stack = "default.prod", uid = "uid-1", ids = [], wants = [], busy } = shape;
  const { newer = [], copies = [] } = shape;
  return {
    kind: "read",
    stack,
    ...(uid !== null && {
      holds: {
        clusterUid: uid,
        cluster: stack.replace(".", "/"),
        provider: "local",
        isNewer: ({ who }) => newer.includes(who.name),
        isCopy: ({ id }) => copies.includes(id),
      },
    }),
    ids: new Set(ids),
    wanted: new Map(
      wants.map((name) => [wantedKey(uid ?? "uid-1", nodeKey("LocalHost", name)), "wanted"]),
    ),
    ...(busy !== undefined && { busy }),
  };
}

export function unreadable(stack = "default.prod"): StackView {
  return { kind: "unreadable", stack, reason: "it is damaged" };
}

/** One that no end is recorded of, unless the shape says otherwise. */
export function known(shape: Partial<KnownCluster> = {}): KnownCluster {
  return {
    clusterUid: "uid-1",
    cluster: "default/prod",
    stacks: ["default.prod"],
    movedAway: false,
    hasEnded: false,
    ...shape,
  };
}
