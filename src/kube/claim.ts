import {
  type ApiWrite,
  clusterFinalizer,
  machineFinalizer,
  patched,
  withFinalizer,
} from "./api-write.js";
import { claimedClasses } from "./machine-classes.js";
import { isForeign, type LiveCluster, type LiveObject } from "./live-object.js";

/**
 * What keeps a Cluster and its users' Machines from going before their hosts do, and the MachineClasses
 * that they name. Pure.
 */
export function claimOf(live: LiveCluster): ApiWrite[] {
  const { cluster, members } = live;
  if (cluster === undefined) return [];
  const machines = members.filter((one) => one.kind === "Machine" && !isForeign(one));
  return [
    ...held(cluster, clusterFinalizer),
    ...machines.flatMap((machine) => held(machine, machineFinalizer)),
    ...claimedClasses(live),
  ];
}

function held(on: LiveObject, finalizer: string): ApiWrite[] {
  return patched(on, { metadata: { ...on.metadata, finalizers: withFinalizer(on, finalizer) } });
}
