import {
  type ApiWrite,
  clusterFinalizer,
  machineFinalizer,
  patched,
  withFinalizer,
} from "./api-write.js";
import { isForeign, type LiveCluster, type LiveObject } from "./live-object.js";

/** What keeps a Cluster and its users' Machines from going before their hosts do. Pure. */
export function claimOf({ cluster, members }: LiveCluster): ApiWrite[] {
  if (cluster === undefined) return [];
  const machines = members.filter((one) => one.kind === "Machine" && !isForeign(one));
  return [
    ...held(cluster, clusterFinalizer),
    ...machines.flatMap((machine) => held(machine, machineFinalizer)),
  ];
}

function held(on: LiveObject, finalizer: string): ApiWrite[] {
  return patched(on, { metadata: { ...on.metadata, finalizers: withFinalizer(on, finalizer) } });
}
