import {
  type HostSet,
  hostOf,
  type OldHost,
  type Round,
  settled,
  unavailable,
  type WantedHost,
} from "./host-set.js";
import { quorumOf } from "../../sets/quorum.js";

/**
 * What may happen to the control plane next. All of it at once while nothing was ever committed and no host joins
 * another; else one member at a time, so that etcd keeps its quorum: a new one joins and serves before the one that it
 * follows leaves. The last deletion is left to the commit, unless that one would sign for workers what those to come do not
 * trust. Pure. Source: docs/cluster-api.md#control-planes.
 */
export function membersRound({ hosts, leaving, isFirst, oneBegins }: HostSet): Round {
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
  const waiting = unavailable(members);
  if (waiting.length > 0) {
    return { kind: "wait", keys: waiting, reason: "the control plane has to run first" };
  }
  const broken = open.filter((member) => member.open === "update" && !member.available);
  const [next] = [...broken, ...open.filter(({ available }) => !available), ...open];
  const room = makeRoom(members, old, next);
  if (room !== undefined) return change([], [room], oneByOne);
  if (next === undefined) return settled;
  const isFresh = next.open === "create" && members.length + old.length === open.length;
  return change([next], [], isFresh ? "the control plane comes first" : oneByOne);
}

const oneByOne = "one control-plane member at a time";

/**
 * The host that has to go before anything else may happen: where there is one too many already, where
 * several are to go, or where a member that is about to change in place would leave no quorum.
 */
function makeRoom(
  members: readonly WantedHost[],
  old: readonly OldHost[],
  next: WantedHost | undefined,
): OldHost | undefined {
  const standing = members.filter(({ open }) => open !== "create");
  const present = [...standing, ...old];
  const serving = present.filter(({ available }) => available).length;
  const isCrowded =
    next === undefined
      ? old.length > 1 || old.some(({ signsOtherwise }) => signsOtherwise === true)
      : next.open === "create"
        ? present.length > members.length
        : serving - Number(next.available) < quorumOf(present.length);
  if (!isCrowded) return undefined;
  // One that does not serve can only burden the quorum.
  return dispensable(members, old).find(
    ({ available }) => !available || serving - 1 >= quorumOf(present.length - 1),
  );
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
