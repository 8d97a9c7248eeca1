import type { CloudIdentity, Found, NodeReport, Observed } from "../provider/port.js";
import { standsStill } from "../provider/failure.js";
import type { NodeKey } from "../graph/graph.js";
import type { EtcdHealth } from "../workload/etcd/etcd-health.js";
import { sameJson, type JsonObject } from "../api/json.js";

/** A resource that the cloud shows, as it is to be planned with. */
export interface PresentResource extends Observed {
  /** Why a host that may well run is to be replaced; absent: it can stay. */
  readonly unfit?: string;
  /**
   * A change in place of ours may have stopped it, and is not finished: the cloud shows it as failed, and it is pending
   * until the change is resumed.
   */
  readonly halfChanged?: true;
  /** What is not there although it looks so: of several machines this one is given up first. */
  readonly missing?: "health";
}

/** What the cloud says about a recorded resource, after a complete look. */
export type ObservedResource = PresentResource | "gone";

/** Sightings of every recorded cloud resource. Nothing unknown gets this far: it stops the plan. */
export type ObservedResources = ReadonlyMap<NodeKey, ObservedResource>;

/** What the cloud says about what is not ours. */
export type ExternalSight = Pick<Found, "id" | "status" | "who"> | "missing";

/** Sights of external nodes. What nobody could tell is not among them. */
export type ExternalSights = ReadonlyMap<NodeKey, ExternalSight>;

/** What the cloud shows of one cluster. */
export interface Observation {
  readonly observedResources: ObservedResources;
  /** What carries the cluster's marks but is in no record; gone ones included. */
  readonly unrecorded: readonly Observed[];
  /** What bears the marks of a recorded resource and is another one: told, never touched. Absent: nothing. */
  readonly copies?: readonly Observed[];
  /** How many of the recorded resources the listing itself showed; others were asked for one by one. */
  readonly listed: number;
  /** Which cloud it was; absent where the provider cannot tell. */
  readonly cloud?: CloudIdentity;
  /** What is not ours and used; absent: nobody has looked. */
  readonly externals?: ExternalSights;
  /** What Nodes say of themselves, by their hosts; absent: nobody has asked them, or their cluster does not answer. */
  readonly nodes?: ReadonlyMap<NodeKey, NodeReport>;
  /** How the members of etcd are; absent: nobody has asked, or nobody can tell. */
  readonly etcd?: EtcdHealth;
  /**
   * New control-plane hosts of an open upgrade that their cluster does not know: it has neither a Node nor an etcd member of them,
   * so their API servers have never served. Absent: the cluster was not asked, or did not answer.
   */
  readonly unjoinedMembers?: ReadonlySet<NodeKey>;
  /** Until when certificates of members count, by their hosts, milliseconds since the epoch; absent: nobody has asked, or none answers. */
  readonly certificates?: ReadonlyMap<NodeKey, number>;
}

/** Hosts as their Nodes tell, where these were asked; what they do not tell as their provider does. Pure. */
export function asNodesTell({ observedResources, nodes }: Observation): ObservedResources {
  if (nodes === undefined || nodes.size === 0) return observedResources;
  return new Map(
    [...observedResources].map(([key, observed]): [NodeKey, ObservedResource] => {
      const told = nodes.get(key);
      if (told === undefined || observed === "gone") return [key, observed];
      return [key, { ...observed, node: { ...observed.node, ...told } }];
    }),
  );
}

/** As it is to be judged while a change in place of it is open: its phase tells of that change, not of its health. Pure. */
export function asHalfChanged(observed: Observed): PresentResource {
  if (!standsStill(observed) || observed.hasLeft === true) return observed;
  const { failure: _failure, ...rest } = observed;
  return { ...rest, phase: "pending", halfChanged: true };
}

/** Whether it is not known to be gone or on its way out. Pure. */
export function isLiving(observed: ObservedResource | undefined): boolean {
  return observed !== "gone" && observed?.phase !== "deleting";
}

/** Whether the cloud's resource is no longer what is recorded about it. */
export function hasDrifted(observed: ObservedResource | undefined, recorded: JsonObject): boolean {
  return observed === "gone" || (observed !== undefined && !sameJson(observed.spec, recorded));
}

/** All that the cloud shows of a cluster, recorded or not; what is only known to be gone is not among it. Pure. */
export function shownIn({
  observedResources,
  unrecorded,
}: Pick<Observation, "observedResources" | "unrecorded">): Observed[] {
  return [...[...observedResources.values()].filter((one) => one !== "gone"), ...unrecorded];
}

/** Those of the resources that the cloud shows, by key, in the order of the keys. Pure. */
export function presentAmong(
  keys: readonly NodeKey[],
  { observedResources }: Pick<Observation, "observedResources">,
): ReadonlyMap<NodeKey, Observed> {
  return new Map(
    keys.flatMap((key) => {
      const observed = observedResources.get(key);
      return observed === undefined || observed === "gone" ? [] : [[key, observed] as const];
    }),
  );
}
