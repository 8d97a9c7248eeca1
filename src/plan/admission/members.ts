import {
  type Fleet,
  hostOf,
  type OldHost,
  type Round,
  settled,
  unavailable,
  type WantedHost,
} from "./fleet.js";

/**
 * What may happen to the control plane next. All of it at once while nothing was ever committed; later
 * one member at a time, so that etcd keeps its quorum: a new one joins and serves before the one that it
 * follows leaves. The last deletion is left to the commit. Pure. Source: reference/cluster-api.md 2.7.
 */
export function membersRound({ hosts, leaving, isFirst }: Fleet): Round {
  const members = hosts.filter(({ controlPlane }) => controlPlane);
  const old = leaving.filter(({ controlPlane }) => controlPlane);
  const open = members.filter((member) => member.open !== undefined);
  if (isFirst && open.length > 0) {
    return change(open, [], "infrastructure and control plane come first");
  }
  const waiting = unavailable(members);
  if (waiting.length > 0) {
    return { kind: "wait", keys: waiting, reason: "the control plane has to run first" };
  }
  const broken = open.filter(({ open: what, available }) => what === "update" && !available);
  const [next] = [...broken, ...open.filter(({ available }) => !available), ...open];
  const present = members.filter((member) => member.open !== "create").length + old.length;
  if (next === undefined) return old.length > 1 ? removal(members, old) : settled;
  if (next.open === "update") return update(next, members, old);
  if (present > members.length && dispensable(members, old).length > 0) {
    return removal(members, old);
  }
  const reason =
    present === 0 ? "the control plane comes first" : "one control-plane member at a time";
  return change([next], [], reason);
}

/** Etcd's majority of so many members. */
export function quorumOf(members: number): number {
  return Math.floor(members / 2) + 1;
}

/**
 * In place: it may not serve meanwhile. Of fewer than three members, none could ever be changed else.
 * Where others are missing those are leftovers, which count against the quorum until they are gone.
 */
function update(next: WantedHost, members: readonly WantedHost[], old: readonly OldHost[]): Round {
  const present = [...members.filter(({ open }) => open !== "create"), ...old];
  const others = present.filter((one) => one.host !== next.host && one.available).length;
  const isNeeded = next.available && present.length > 2 && others < quorumOf(present.length);
  if (isNeeded) return removal(members, old);
  return change([next], [], "one control-plane member at a time");
}

/** One that nobody needs any more; never one that the quorum needs. What does not serve costs nothing. */
function removal(members: readonly WantedHost[], old: readonly OldHost[]): Round {
  const standing = members.filter(({ open }) => open !== "create");
  const serving = [...standing, ...old].filter(({ available }) => available).length;
  const left = standing.length + old.length - 1;
  const victim = dispensable(members, old).find(
    ({ available }) => !available || serving - 1 >= quorumOf(left),
  );
  if (victim !== undefined) return change([], [victim], "one control-plane member at a time");
  const down = [...standing, ...old].filter(({ available }) => !available);
  return { kind: "wait", keys: down.map(hostOf), reason: "etcd has to keep its quorum" };
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
  return { kind: "change", changes: changes.map(hostOf), deletions: deletions.map(hostOf), reason };
}
