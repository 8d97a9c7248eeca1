import { isDeleting, type LiveCluster, type LiveObject } from "./live-object.js";
import { mergePatch } from "./merge-patch.js";
import { type ApiWrite, clusterFinalizer, machineFinalizer } from "./projection.js";

/**
 * The next writes that let the objects of a cluster go of which nothing is left in the cloud: its members
 * are deleted and let go first, deployments before the sets and Machines that they would make anew, and the
 * Cluster itself when there is no more of them. Pure.
 */
export function releaseOf({ cluster, members }: LiveCluster): ApiWrite[] {
  if (cluster === undefined) return [];
  const makers = members.filter(({ kind }) => kind === "MachineDeployment");
  const doomed = [...makers, ...members.filter((one) => !makers.includes(one))];
  const writes = doomed.flatMap((member): ApiWrite[] => {
    const free = withoutFinalizer(member, machineFinalizer);
    return isDeleting(member) ? free : [...free, { kind: "delete", on: member }];
  });
  if (writes.length > 0) return writes;
  return withoutFinalizer(cluster, clusterFinalizer);
}

function withoutFinalizer(on: LiveObject, finalizer: string): ApiWrite[] {
  const { finalizers = [], resourceVersion } = on.metadata;
  if (!finalizers.includes(finalizer)) return [];
  const patch = mergePatch(
    { finalizers },
    { finalizers: finalizers.filter((one) => one !== finalizer) },
  );
  return [{ kind: "patch", on, patch: { metadata: { ...patch, resourceVersion } } }];
}
