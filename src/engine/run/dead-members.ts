import { identityOf } from "../../compile/compile.js";
import { statusOf } from "../../dynamic/recorded.js";
import { keyOf } from "../../graph/graph.js";
import type { Observation } from "../../plan/observation.js";
import { isDown } from "../../provider/failure.js";
import type { Observed } from "../../provider/port.js";
import { cloudResources, recordedIdentity } from "../../records/prior-state.js";
import { clusterIn, keepsControlPlane } from "../../records/target.js";
import { type HostRecords, memberJudge } from "./member-hosts.js";

/** A member of etcd whose host does not run any more, as it was recorded last. */
export interface DeadMember extends Pick<Observed, "who" | "status"> {
  /** Absent of one that is gone. */
  readonly observed?: Observed;
}

/**
 * Members that etcd still counts on although their hosts are gone, or failed and not wanted. None where there is to be no
 * control plane. Pure.
 */
export function deadMembers(known: HostRecords, observation: Observation): DeadMember[] {
  if (!keepsControlPlane(known.target)) return [];
  const isMember = memberJudge(known);
  return [...recordedDead(known, observation), ...forgottenDead(known, observation)].filter(
    ({ who }) => isMember(who.name),
  );
}

function recordedDead(
  { target, records, hostKind }: HostRecords,
  { observedResources }: Observation,
): DeadMember[] {
  const wanted = new Set(target.machines.map(({ host }) => host));
  return cloudResources(records).flatMap((resource) => {
    const observed = observedResources.get(resource.key);
    if (resource.kind !== hostKind || observed === undefined) return [];
    const known = { who: recordedIdentity(resource), status: statusOf(resource.outputs) };
    if (observed === "gone") return [known];
    return isDown(observed) && !wanted.has(resource.key) ? [{ ...known, observed }] : [];
  });
}

/** Of the revision, and in no record and no listing any more: a plain `pulumi refresh` forgets what is gone. */
function forgottenDead(
  { records: { revision, transaction }, hostKind }: HostRecords,
  { observedResources, unrecorded }: Observation,
): DeadMember[] {
  if (revision === undefined || transaction === undefined) return [];
  const listed = unrecorded.filter(({ phase }) => phase !== "gone");
  const known = new Set([...observedResources.keys(), ...listed.map(({ who }) => keyOf(who))]);
  const cluster = clusterIn(revision.target);
  return revision.target.nodes
    .filter((node) => node.kind === hostKind && !known.has(keyOf(node)))
    .map(({ kind, name }) => ({
      who: identityOf(cluster, transaction.clusterUid, kind, name),
      status: {},
    }));
}
