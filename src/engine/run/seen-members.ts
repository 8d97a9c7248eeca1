import { keyOf } from "../../graph/graph.js";
import { type Observation, shownIn } from "../../plan/observation.js";
import type { Observed } from "../../provider/port.js";
import type { MemberHost } from "../../workload/etcd/etcd-health.js";
import { type DeadMember, deadMembers } from "./dead-members.js";
import { type HostRecords, memberJudge } from "./member-hosts.js";
import { nodeHostOf } from "./node-host.js";
import type { NodeHost } from "./workload-cluster.js";

/** A host that etcd may count on, and how its own cluster knows it. */
export interface SeenMember {
  readonly member: MemberHost;
  readonly node: NodeHost;
  /** Absent of one that is gone. */
  readonly observed?: Observed;
}

/** Hosts of the control plane that are there, and those that etcd may still count on. Pure. */
export function membersAmongSeen(known: HostRecords, observation: Observation): SeenMember[] {
  const isMember = memberJudge(known);
  const dead = deadMembers(known, observation);
  const deadNames = new Set(dead.map(({ who }) => who.name));
  const living = shownIn(observation).filter(
    ({ who, phase }) =>
      who.kind === known.hostKind &&
      phase !== "gone" &&
      isMember(who.name) &&
      !deadNames.has(who.name),
  );
  return [
    ...living.map((observed): SeenMember => ({
      member: memberHost(observed, observed.phase === "ready" ? "runs" : "pending"),
      node: nodeHostOf(observed),
      observed,
    })),
    ...dead.map((one) => ({ member: deadHost(one), node: nodeHostOf(one) })),
  ];
}

/** A member that etcd counts on in vain. Pure. */
export function deadHost(dead: DeadMember): MemberHost {
  return memberHost(dead, "dead");
}

function memberHost({ who }: Pick<Observed, "who">, phase: MemberHost["phase"]): MemberHost {
  return { key: keyOf(who), name: who.name, phase };
}
