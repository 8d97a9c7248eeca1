import type { InfrastructureDecision } from "./infrastructure.js";
import type { CompiledGoal } from "../goal/compiled-goal.js";
import type { JsonObject } from "../../api/json.js";
import type { GraphNode } from "../../graph/graph.js";
import type { ExpandedMachine } from "../../sets/expanded.js";
import type { HostDecision } from "./hosts.js";
import type { SatellitePolicies } from "./satellite-policies.js";

/** All that was decided about what is wanted. */
export interface Decided extends Pick<CompiledGoal, "going"> {
  readonly infrastructure: readonly InfrastructureDecision[];
  readonly hosts: readonly DecidedHost[];
  /** What the manifests say of what lives with hosts; absent: a recorded graph is led to. */
  readonly policies?: SatellitePolicies | undefined;
}

/** A machine with what was decided about its host. */
export interface DecidedHost {
  readonly machine: ExpandedMachine;
  readonly controlPlane: boolean;
  readonly decision: HostDecision;
  /** Wanted spec of the host with its Refs. */
  readonly spec: GraphNode["spec"];
  /** The same with Refs resolved as far as they are known. */
  readonly wanted: JsonObject;
}
