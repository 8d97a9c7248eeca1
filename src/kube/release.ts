import { isDeleting, isForeign, type LiveCluster } from "./live-object.js";
import { releasedClasses } from "./machine-classes.js";
import { type ApiWrite, clusterFinalizer, machineFinalizer, released } from "./api-write.js";

/**
 * The next writes that let the objects of a cluster go of which nothing is left in the cloud: its members
 * are deleted, deployments before the sets and Machines that they would make anew, then let go, and the
 * Cluster itself when there is no more to do about them. Nothing for a Cluster that nobody has deleted; of
 * one that is gone already, the classes that it kept are let go.
 * Objects that others control are left to them. Pure.
 */
export function releaseOf(live: LiveCluster): ApiWrite[] {
  const { cluster, members } = live;
  if (cluster === undefined) return releasedClasses(live);
  if (!isDeleting(cluster)) return [];
  const own = members.filter((member) => !isForeign(member));
  const makers = own.filter(({ kind }) => kind === "MachineDeployment");
  const toDelete = [...makers, ...own.filter((one) => !makers.includes(one))];
  const writes = toDelete.flatMap((on): ApiWrite[] =>
    isDeleting(on) ? released(on, [machineFinalizer]) : [{ kind: "delete", on }],
  );
  if (writes.length > 0) return writes;
  const classes = releasedClasses(live);
  return classes.length > 0 ? classes : released(cluster, [clusterFinalizer]);
}
