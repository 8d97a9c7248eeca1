import { identityOf } from "../../compile/compile.js";
import { wasSpent } from "../../plan/decisions/hosts.js";
import { type Observation, shownIn } from "../../plan/observation.js";
import type { CallContext, Observed } from "../../provider/port.js";
import { clusterIn } from "../../records/target.js";
import { type EtcdHealth, etcdHealthOf } from "../../workload/etcd/etcd-health.js";
import type { EtcdReport } from "../../workload/etcd/etcd-report.js";
import type { DeadMember } from "./dead-members.js";
import { type HostRecords, memberJudge } from "./member-hosts.js";
import type { RunBootstrap } from "./run-bootstrap.js";
import { deadHost, type SeenMember } from "./seen-members.js";
import type { WorkloadCluster } from "./workload-cluster.js";

interface EtcdQuestioned extends HostRecords {
  readonly bootstrap: RunBootstrap;
  readonly observation: Observation;
  readonly context: CallContext;
  /** All that the cloud shows, also what a run leaves alone. */
  readonly shown: Pick<Observation, "observedResources" | "unrecorded">;
  /** What records and cloud know of members. */
  readonly hosts: readonly SeenMember[];
  /** One of them that runs. */
  readonly running: Observed;
}

/** What etcd has answered, and whom it was about. */
export interface EtcdAnswered {
  readonly cluster: WorkloadCluster;
  readonly report: EtcdReport;
  readonly health: EtcdHealth;
  /** Members that etcd alone still knows: their hosts are in no record and in no listing. */
  readonly forgotten: readonly DeadMember[];
}

/** Etcd, asked once. Undefined where it is outside of the cluster's pods. Throws API_SERVER, and what the provider throws. */
export async function askEtcd(asked: EtcdQuestioned): Promise<EtcdAnswered | undefined> {
  const { bootstrap, observation, records, context, hosts, running } = asked;
  const cluster = await bootstrap.workload.beside(observation, running, records, context);
  const nodes = hosts.map(({ node }) => node);
  const report = await cluster.etcd(nodes, context.signal);
  if (report === undefined) return undefined;
  const forgotten = forgottenMembers(report, asked);
  const members = [...hosts.map(({ member }) => member), ...forgotten.map(deadHost)];
  return { cluster, report, health: etcdHealthOf(report, members), forgotten };
}

/**
 * A host that was made for this cluster and is nowhere any more is gone: a destroy asks etcd nothing, and what it has deleted when it
 * breaks off is in no record. Names of hosts are used once, so that nobody else's can be among them. Pure.
 */
function forgottenMembers(report: EtcdReport, asked: EtcdQuestioned): DeadMember[] {
  const { target, records, hostKind, shown, hosts } = asked;
  const { transaction } = records;
  if (transaction === undefined) return [];
  const living = shownIn(shown).filter(({ phase }) => phase !== "gone");
  const known = new Set([
    ...living.map(({ who }) => who.name),
    ...hosts.map(({ member }) => member.name),
  ]);
  const isMember = memberJudge({ target, records, hostKind });
  const cluster = clusterIn(target);
  return report.members.flatMap(({ name, host, answer }) => {
    // One without a name was added to etcd and has never run.
    if (name === undefined || host !== undefined || answer.kind !== "silent") return [];
    if (known.has(name) || !wasSpent(transaction.spent, name) || !isMember(name)) return [];
    return [{ who: identityOf(cluster, transaction.clusterUid, hostKind, name), status: {} }];
  });
}
