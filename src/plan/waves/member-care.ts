import { type NodeKey, nodeName } from "../../graph/graph.js";
import { isMajority } from "../../sets/quorum.js";
import {
  ailmentsText,
  type EtcdHealth,
  type MemberHealth,
} from "../../workload/etcd/etcd-health.js";
import { isHostOf } from "../decisions/hosts.js";

/** What a round does to the members of etcd that there are. */
interface MemberChange {
  /** In place, so that they do not serve meanwhile. */
  readonly changed: ReadonlySet<NodeKey>;
  readonly deleted: ReadonlySet<NodeKey>;
  /** Machines that get another host, which joins. */
  readonly succeeded: readonly string[];
  /** It also commits: what is dead by then is nobody's to wait for. */
  readonly commits: boolean;
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
 * change of it in place takes nothing from anybody. Those that are dead leave etcd when the next one joins. Pure.
 * Source: docs/adr/0047.
 */
export function etcdHold(change: MemberChange, health: EtcdHealth): EtcdHold | undefined {
  const { changed, deleted, succeeded, commits } = change;
  const isSucceeded = ({ host }: MemberHealth) =>
    host !== undefined && succeeded.some((machine) => isHostOf(machine, nodeName(host)));
  const isDisturbed = ({ host }: MemberHealth) =>
    host !== undefined && (changed.has(host) || deleted.has(host));
  const touched = health.filter((one) => isSucceeded(one) || isDisturbed(one));
  const mends = touched.length > 0 && touched.every(isIll);
  const excusesDead = commits || succeeded.length > 0;
  const others = health.filter(
    (one) =>
      one.state !== "well" && !touched.includes(one) && !(excusesDead && one.state === "dead"),
  );
  if (others.length > 0 && !mends) return holdBy(others);
  const ill = health.filter(isIll);
  const onlyInPlace = deleted.size + succeeded.length === 0;
  if (ill.length === 0 || onlyInPlace) return undefined;
  const voters = health.filter(({ votes }) => votes);
  const standing = voters.filter((one) => !isIll(one) && !isDisturbed(one));
  return isMajority(standing.length, voters.length) ? undefined : holdBy(ill);
}

/** Whether a member is known not to serve. Pure. */
export function isIll({ state }: MemberHealth): boolean {
  return state === "ill" || state === "dead";
}

function holdBy(ailing: EtcdHealth): EtcdHold {
  return { ailing, reason: `etcd has to be well first: ${ailmentsText(ailing)}` };
}
