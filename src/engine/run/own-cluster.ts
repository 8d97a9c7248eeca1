import type { Observation } from "../../plan/observation.js";
import type { Observed } from "../../provider/port.js";
import { keepsControlPlane } from "../../records/target.js";
import type { Waits } from "./waits.js";
import type { WorkloadCluster } from "./workload-cluster.js";

/** Whether a run is about a cluster whose pods are moved: one that goes as a whole takes them along. Pure. */
export function hasNodes({ bootstrap, goal }: Pick<Waits, "bootstrap" | "goal">): boolean {
  return bootstrap !== undefined && keepsControlPlane(goal.target);
}

/** The cluster of some hosts, as its own API server tells of it. Throws as `RunWorkload.beside` does. */
export async function clusterOf(
  [first]: readonly Observed[],
  observation: Pick<Observation, "observedResources">,
  waits: Waits,
): Promise<WorkloadCluster | undefined> {
  if (first === undefined) return undefined;
  return waits.bootstrap?.workload.beside(observation, first, waits.recorded(), waits.context);
}
