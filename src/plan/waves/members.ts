import {
  type HostSet,
  hostOf,
  type OldHost,
  type Round,
  settled,
  unavailable,
  type WantedHost,
} from "./host-set.js";
import { isMajority } from "../../sets/quorum.js";
import type { NodeKey } from "../../graph/graph.js";
import { ailmentsText } from "../../workload/etcd/etcd-health.js";
import { etcdHold, isIll } from "./member-care.js";

/**
 * What may happen to the control plane next. All of it at once while nothing was ever committed and no host joins
 * another; else one member at a time, so that etcd keeps its quorum: a new one joins and serves before the one that it
 * follows leaves. The last deletion is left to the commit, unless that one would sign for workers what those to come do not
 * trust. Pure. Source: docs/cluster-api.md#control-planes.
 */
export function membersRound(hostSet: HostSet): Round {
  const round = roundOf(hostSet);
  return round.kind === "change" ? (heldByEtcd(round, hostSet) ?? round) : round;
}

/** What a pass does, as far as members of the control plane may be among it. */
interface PassChange {
  readonly keys: readonly NodeKey[];
  readonly deletions: readonly NodeKey[];
  /** It also commits, which waits for what the changes before it have left. */
  readonly commits?: boolean;
}

/** The wait for etcd that a pass needs first; undefined where it may come now. Pure. */
export function heldByEtcd(
  { keys, deletions, commits = false }: PassChange,
  { hosts, leaving, etcd, own }: HostSet,
): Extract<Round, { kind: "waitForEtcd" }> | undefined {
  const touched = hosts.filter(({ controlPlane, host }) => controlPlane && keys.includes(host));
  const disturbed = touched.filter(
    ({ open, isQuiet, starts }) => open === "update" && !isQuiet && !starts,
  );
  const old = leaving.filter(({ controlPlane, host }) => controlPlane && deletions.includes(host));
  const succeeded = touched.filter(({ open }) => open === "create").map(({ name }) => name);
  if (!commits && disturbed.length + old.length + succeeded.length === 0) return undefined;
  const hold = etcdHold(
    {
      changed: new Set(disturbed.map(hostOf)),
      deleted: new Set(old.map(hostOf)),
      succeeded,
      own,
    },
    etcd,
  );
  return hold && { kind: "waitForEtcd", ...hold };
}

/** What may happen to the control plane next, as if etcd were well. Pure. */
export function roundOf({ hosts, leaving, isFirst, oneBegins, etcd }: HostSet): Round {
  const members = hosts.filter(({ controlPlane }) => controlPlane);
  const old = leaving.filter(({ controlPlane }) => controlPlane);
  const open = members.filter((member) => member.open !== undefined);
  if (isFirst && !oneBegins && open.length > 0) {
    return change(open, [], "infrastructure and control plane come first");
  }
  // What never served may begin a cluster yet: another one must not begin beside it.
  if (
    isFirst &&
    oneBegins &&
    old.length > 0 &&
    ![...members, ...old].some(({ available }) => available)
  ) {
    return change([], old, "a control plane that never ran goes first");
  }
  // None of them serves, and others may need them for a majority before they serve again.
  const stopped = open.filter(({ starts }) => starts);
  if (stopped.length > 0) return change(stopped, [], "members that stand still are started");
  const waiting = unavailable(members);
  const ailing = etcd.filter(({ host, votes }) => votes && host && waiting.includes(host));
  if (ailing.length > 0 && ailing.length === waiting.length && ailing.every(isIll)) {
    // Etcd tells more of them than that they do not serve.
    return {
      kind: "waitForEtcd",
      ailing,
      reason: `the control plane has to run first: ${ailmentsText(ailing)}`,
    };
  }
  if (waiting.length > 0) {
    return { kind: "wait", keys: waiting, reason: "the control plane has to run first" };
  }
  const broken = open.filter((member) => member.open === "update" && !member.available);
  const ill = open.filter((member) => member.isIll);
  const [next] = [...broken, ...ill, ...open.filter(({ available }) => !available), ...open];
  const room = makeRoom(members, old, next);
  if (room !== undefined) return change([], [room], oneByOne);
  if (next === undefined) return settled;
  const isFresh = next.open === "create" && members.length + old.length === open.length;
  return change([next], [], isFresh ? "the control plane comes first" : oneByOne);
}

const oneByOne = "one control-plane member at a time";

/**
 * The host that has to go before anything else may happen: where there is one too many already, or one without a successor that does not
 * serve, where several are to go, or where a member that is about to change in place would leave no quorum.
 */
function makeRoom(
  members: readonly WantedHost[],
  old: readonly OldHost[],
  next: WantedHost | undefined,
): OldHost | undefined {
  if (!isCrowded(members, old, next)) return undefined;
  const { present, serving } = memberCounts(members, old);
  // One that does not serve can only burden the quorum.
  return dispensable(members, old).find(
    ({ available }) => !available || isMajority(serving - 1, present - 1),
  );
}

/** Whether a host has to go before the next member is made or changed, or, without one, before anything else may happen. Pure. */
export function isCrowded(
  members: readonly WantedHost[],
  old: readonly OldHost[],
  next: WantedHost | undefined,
): boolean {
  if (next === undefined) {
    return old.length > 1 || old.some(({ signsOtherwise }) => signsOtherwise === true);
  }
  const { present, serving } = memberCounts(members, old);
  if (next.open !== "create") return !isMajority(serving - Number(next.available), present);
  // No member joins beside one that is not well, and nothing makes that well any more.
  const isBurden = ({ available, machine }: OldHost) =>
    !available && members.every(({ name }) => name !== machine);
  return present > members.length || old.some(isBurden);
}

/** How many members there are, and how many of them serve. */
function memberCounts(members: readonly WantedHost[], old: readonly OldHost[]) {
  const present = [...members.filter(({ open }) => open !== "create"), ...old];
  return {
    present: present.length,
    serving: present.filter(({ available }) => available).length,
  };
}

/**
 * Leftovers first, then what does not serve, then whoever has a successor that does, or none at all.
 * One that serves a machine whose successor is still to come stays.
 */
function dispensable(members: readonly WantedHost[], old: readonly OldHost[]): OldHost[] {
  const waits = new Set(
    members
      .filter(({ open, available }) => open === "create" || !available)
      .map(({ name }) => name),
  );
  const rankOf = ({ serves, available, machine }: OldHost) => {
    if (!serves) return available ? 1 : 0;
    if (!available) return 2;
    return waits.has(machine) ? Infinity : 3;
  };
  return old
    .filter((one) => rankOf(one) < Infinity)
    .sort((left, right) => rankOf(left) - rankOf(right));
}

function change(
  changes: readonly WantedHost[],
  deletions: readonly OldHost[],
  reason: string,
): Round {
  return { kind: "change", keys: changes.map(hostOf), deletions: deletions.map(hostOf), reason };
}
