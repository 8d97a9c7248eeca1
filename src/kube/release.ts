import { isDeleting, isForeign, type LiveCluster } from "./live-object.js";
import { type ApiWrite, clusterFinalizer, machineFinalizer, released } from "./api-write.js";

/**
 * The next writes that let the objects of a cluster go of which nothing is left in the cloud: its members
 * are deleted, deployments before the sets and Machines that they would make anew, then let go, and the
 * Cluster itself when there is no more to do about them. Nothing for a Cluster that nobody has deleted.
 * Objects that others control are left to them. Pure.
 */
export function releaseOf({ cluster, members }: LiveCluster): ApiWrite[] {
  if (cluster === undefined || !isDeleting(cluster)) return [];
  const own = members.filter((member) => !isForeign(member));
  const makers = own.filter(({ kind }) => kind === "MachineDeployment");
  const toDelete = [...makers, ...own.filter((one) => !makers.includes(one))];
  const writes = toDelete.flatMap((on): ApiWrite[] =>
    isDeleting(on) ? released(on, [machineFinalizer]) : [{ kind: "delete", on }],
  );
  return writes.length > 0 ? writes : released(cluster, [clusterFinalizer]);
}
