import { type NodeKey, nodeName } from "../../graph/graph.js";
import { isMajority } from "../../sets/quorum.js";
import {
  ailmentsText,
  type EtcdHealth,
  type MemberHealth,
} from "../../workload/etcd/etcd-health.js";
import { isHostOf } from "../../records/host-name.js";

/** What a round does to the members of etcd that there are. */
interface MemberChange {
  /** In place, so that they do not serve meanwhile. */
  readonly changed: ReadonlySet<NodeKey>;
  readonly deleted: ReadonlySet<NodeKey>;
  /** Machines that get another host, which joins. */
  readonly succeeded: readonly string[];
  /** Hosts that the transaction has made or changed, or will: it does not end before these are well. */
  readonly own: readonly NodeKey[];
}

/** Why a round has to wait. */
interface EtcdHold {
  /** Those that are not well. */
  readonly ailing: EtcdHealth;
  readonly reason: string;
}

/**
 * What stands in the way of a change of the control plane: no member is touched while another one is not well, and none that is
 * ill goes, or gets a successor, while the others are no majority without it. What mends an ill member waits for no other, and a
 * change of it in place takes nothing from anybody. What touches no member, as a commit or the deletion of a host that etcd does not know
 * any more, waits for its transaction's own, and for the others while no majority is well. Those that are dead leave etcd when the next one joins, or before nothing names
 * them any more. While etcd cannot be asked none joins, and none that is dead loses its record. Pure.
 * Source: docs/adr/0047.
 */
export function etcdHold(change: MemberChange, health: EtcdHealth): EtcdHold | undefined {
  const { deleted, succeeded } = change;
  const isSucceeded = ({ host }: MemberHealth) =>
    host !== undefined && succeeded.some((machine) => isHostOf(machine, nodeName(host)));
  const touched = health.filter((one) => isSucceeded(one) || isDisturbed(one, change));
  const unknown = health.filter(({ state }) => state === "unknown");
  const forgets = touched.some((one) => one.state === "dead" && isDisturbed(one, change));
  if (unknown.length > 0 && (forgets || succeeded.length > 0)) return holdBy(unknown);
  const mends = touched.length > 0 && touched.every(isIll);
  const others = othersAiling(touched, change, health);
  if (others.length > 0 && !mends) return holdBy(others);
  const ill = health.filter(isIll);
  const onlyInPlace = deleted.size + succeeded.length === 0;
  if (ill.length === 0 || onlyInPlace) return undefined;
  return isMajorityWithout(change, health) ? undefined : holdBy(ill);
}

/** Whether a change stops the member, or takes it away. */
function isDisturbed({ host }: MemberHealth, { changed, deleted }: MemberChange): boolean {
  return host !== undefined && (changed.has(host) || deleted.has(host));
}

/** The members beside those that a change touches that are not well, as far as the change waits for them. Pure. */
export function othersAiling(
  touched: EtcdHealth,
  { succeeded, own }: MemberChange,
  health: EtcdHealth,
): EtcdHealth {
  const joins = succeeded.length > 0;
  const isIllOfItself = (one: MemberHealth) =>
    !joins &&
    touched.length === 0 &&
    one.state === "ill" &&
    one.host !== undefined &&
    !own.includes(one.host);
  const isExcused = (one: MemberHealth) =>
    (joins && one.state === "dead") || (isIllOfItself(one) && isServed(health));
  return health.filter((one) => one.state !== "well" && !touched.includes(one) && !isExcused(one));
}

/** Whether the members that are not ill are a majority without those that a change disturbs. Pure. */
export function isMajorityWithout(change: MemberChange, health: EtcdHealth): boolean {
  const voters = health.filter(({ votes }) => votes);
  const standing = voters.filter((one) => !isIll(one) && !isDisturbed(one, change));
  return isMajority(standing.length, voters.length);
}

/** Whether a majority of those that vote is known to be well. */
function isServed(health: EtcdHealth): boolean {
  const voters = health.filter(({ votes }) => votes);
  return isMajority(voters.filter(({ state }) => state === "well").length, voters.length);
}

/** Members that etcd counts on in vain, and that may leave it now: all others are well, and a majority without them. Pure. */
export function mayLeaveDead(health: EtcdHealth): EtcdHealth {
  const others = health.filter(({ state }) => state !== "dead");
  const voters = health.filter(({ votes }) => votes);
  const standing = others.filter(({ votes }) => votes);
  const isSafe =
    others.every(({ state }) => state === "well") && isMajority(standing.length, voters.length);
  return isSafe ? health.filter(({ state }) => state === "dead") : [];
}

/** Etcd once those have left it: a run takes them out at its first look. Pure. */
export function withoutDeadMembers(health: EtcdHealth): EtcdHealth {
  const leaving = mayLeaveDead(health);
  return health.filter((one) => !leaving.includes(one));
}

/** Whether a member is known not to serve. Pure. */
export function isIll({ state }: MemberHealth): boolean {
  return state === "ill" || state === "dead";
}

function holdBy(ailing: EtcdHealth): EtcdHold {
  return { ailing, reason: `etcd has to be well first: ${ailmentsText(ailing)}` };
}
