import { sameJson, type Json, type JsonObject } from "../api/json.js";
import type { NodeKey } from "../graph/graph.js";
import type { CloudIdentity, Observed, Verdict } from "../provider/port.js";

/** One field that a step changes. Unknown values are shown as "(known after apply)" elsewhere. */
export interface ChangedField {
  readonly path: string;
  readonly from?: Json;
  readonly to?: Json;
}

/**
 * What a transaction does to one resource. `delete` steps are carried out with the commit, all
 * others before it.
 */
export type Step =
  | { readonly kind: "create"; readonly key: NodeKey; readonly reason: string }
  /** Gives a resource that the cloud holds a record; nothing is made or changed. */
  | { readonly kind: "adopt"; readonly key: NodeKey; readonly reason: string }
  | {
      readonly kind: "update";
      readonly key: NodeKey;
      readonly changes: readonly ChangedField[];
      readonly reason: string;
    }
  | { readonly kind: "delete"; readonly key: NodeKey; readonly reason: string };

/** A resource that the cloud shows, as it is to be planned with. */
export interface PresentResource extends Observed {
  /** Why a host that may well run is to be replaced; absent: it can stay. */
  readonly unfit?: string;
  /** What is not there although it looks so: of several machines this one is given up first. */
  readonly missing?: "health";
}

/** What the cloud says about a recorded resource, after a complete look. */
export type ObservedResource = PresentResource | "gone";

/** Sightings of every recorded cloud resource. Nothing unknown gets this far: it stops the plan. */
export type ObservedResources = ReadonlyMap<NodeKey, ObservedResource>;

/** What the cloud shows of one cluster. */
export interface Observation {
  readonly observedResources: ObservedResources;
  /** What carries the cluster's marks but is in no record; gone ones included. */
  readonly unrecorded: readonly Observed[];
  /** How many of the recorded resources the listing itself showed; others were asked for one by one. */
  readonly listed: number;
  /** Which cloud it was; absent where the provider cannot tell. */
  readonly cloud?: CloudIdentity;
}

/** The paths of a verdict with their values on both sides. */
export function changesOf(verdict: Verdict, from: JsonObject, to: JsonObject): ChangedField[] {
  if (verdict.kind === "same") return [];
  return verdict.paths.map((path) => ({
    path,
    ...(from[path] !== undefined && { from: from[path] }),
    ...(to[path] !== undefined && { to: to[path] }),
  }));
}

/** Whether the cloud's resource is no longer what is recorded about it. */
export function hasDrifted(observed: ObservedResource | undefined, recorded: JsonObject): boolean {
  return observed === "gone" || (observed !== undefined && !sameJson(observed.spec, recorded));
}
