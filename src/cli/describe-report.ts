import { recordedKeys } from "../records/recorded-keys.js";
import type { JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { withoutSecretFields } from "../api/secret-fields.js";
import type { MachineVersions } from "../api/types.js";
import { type DriftedField, driftedFields, driftText } from "../drift/fields.js";
import { ailmentText } from "../drift/health.js";
import { expiringText } from "../drift/renewal.js";
import type { JudgedItem } from "../drift/judge.js";
import { judgedDrift, rulesOfHealing } from "../drift/plan-with-drift.js";
import type { StackWorker } from "../engine/locks/stack-worker.js";
import type { Observation } from "../engine/run/observe.js";
import type { StackState } from "../engine/backend/state.js";
import { externalSpecOf, keyOf, type NodeKey } from "../graph/graph.js";
import { type WayBack, wayBackOf } from "../plan/undo/point-of-no-return.js";
import { failureDomainOf, machineKey, type TargetMachine } from "../records/target.js";
import {
  isOpen,
  cloudResources,
  type RecordedResource,
  recordedSpec,
} from "../records/prior-state.js";
import { authorityExpiries, type CertificateExpiry } from "../source/certificate-report.js";
import { heldNode, nodeFields } from "../drift/node-fields.js";
import { asNodesTell, type ObservedResource, type ObservedResources } from "../plan/observation.js";
import { leavingText } from "../plan/decisions/verdicts.js";
import type { EtcdHealth } from "../workload/etcd/etcd-health.js";
import { cordonText, nodeAilment } from "./node-text.js";
import { pendingOperations, type PendingOperations } from "./pending-operations.js";
import { whyFailed } from "../provider/failure.js";
import type { Failure, InfrastructureProvider, NodeReport, Observed } from "../provider/port.js";
import type { Direction, TransactionGoal } from "../records/transaction.js";

/** What a resource is doing. planned: not made yet; unknown: the cloud did not answer. */
export type ShownPhase =
  | "ready"
  | "pending"
  | "stopped"
  | "failed"
  | "deleting"
  | "gone"
  | "planned"
  | "unknown"
  | "external";

export interface ResourceReport {
  readonly key: NodeKey;
  readonly kind: string;
  readonly name: string;
  readonly phase: ShownPhase;
  readonly id?: string;
  readonly address?: string;
  /** When it was first recorded, milliseconds since the epoch. */
  readonly sinceMs?: number;
  readonly changedMs?: number;
  /** Since when it is ready, where the cloud tells. */
  readonly readySinceMs?: number;
  /** What its node last said about itself: the versions that run. */
  readonly node?: NodeReport;
  /** Of what failed, where the cloud says why. */
  readonly failure?: Failure;
  readonly drift: readonly DriftedField[];
  /** Why it is as it is and what follows, in one sentence; empty when all is well. */
  readonly reason: string;
}

export interface MachineReport {
  readonly name: string;
  readonly controlPlane: boolean;
  readonly machineSet?: string;
  readonly machineDeployment?: string;
  /** Where it is, chosen by Capstan or by its user; absent where its cluster offers no failure domains. */
  readonly failureDomain?: string;
  /** What is wanted; what runs is said by the hosts' nodes. */
  readonly versions: MachineVersions;
  /** Of the host that serves it, or will. */
  readonly phase: ShownPhase;
  readonly reason: string;
  /** The serving host first, then those that are to go. */
  readonly hosts: readonly ResourceReport[];
  readonly providerSpec: JsonObject;
}

/** Everything that state and cloud tell about one cluster. */
export interface ClusterReport extends PendingOperations {
  readonly stack: string;
  /** "<namespace>/<name>"; absent when nothing is recorded. */
  readonly cluster?: string;
  readonly provider?: string;
  readonly clusterUid?: string;
  /** Number of the last committed revision; 0 for none. */
  readonly revision: number;
  readonly openTransaction: {
    readonly number: number;
    readonly direction: Direction;
    readonly goal: TransactionGoal;
    readonly startedAtMs: number;
    /** Whether it can be taken back. */
    readonly wayBack: WayBack;
  } | null;
  /** The process that works on what is open; none where nothing is. */
  readonly worker: StackWorker;
  readonly infrastructure: readonly ResourceReport[];
  readonly machines: readonly MachineReport[];
  /** How the members of its etcd are; absent: there is none, or nobody can tell. */
  readonly etcd?: EtcdHealth;
  /** Until when its authorities count; none of a cluster without keys. */
  readonly certificates: readonly CertificateExpiry[];
  /** Alive in the cloud with this cluster's marks, and in no record. */
  readonly strangers: readonly string[];
  /** Why the cloud could not be looked at. Phases are unknown then. */
  readonly cloudError?: string;
}

/** What there is to describe beside what is recorded. */
interface Surroundings {
  readonly nowMs: number;
  readonly worker: StackWorker;
  /** Absent where nothing is recorded. */
  readonly provider?: InfrastructureProvider;
  /** The cloud as it is, or why it could not be looked at. */
  readonly observation?: Observation | { readonly failed: string };
}

/** Holds state and cloud against each other. Without a look every phase is unknown. Pure. */
export function describeCluster(
  stack: string,
  state: StackState,
  { nowMs, worker, provider, observation: look }: Surroundings,
): ClusterReport {
  const { transaction, revision } = state;
  const seen = look !== undefined && "observedResources" in look ? look : undefined;
  const judged = seen && provider && judgedAt(nowMs, state, seen, provider);
  const reporter = new Reporter({ state, worker, observation: seen, judged, provider });
  const planned = new Set(transaction?.target.nodes.map(keyOf));
  return omitUndefined({
    stack,
    cluster: transaction?.target.cluster,
    provider: transaction?.target.provider,
    clusterUid: transaction?.clusterUid,
    revision: revision?.number ?? 0,
    openTransaction:
      transaction === undefined || !isOpen(state)
        ? null
        : {
            number: transaction.number,
            direction: transaction.direction,
            goal: transaction.goal,
            startedAtMs: transaction.startedAtMs,
            wayBack: wayBackOf(provider, state, seen),
          },
    worker,
    ...pendingOperations(state, worker),
    infrastructure: reporter.infrastructure(),
    machines: reporter.machines(),
    etcd: seen?.etcd,
    certificates: authorityExpiries(recordedKeys(state), nowMs),
    strangers: seen === undefined ? [] : unrecordedOf(seen, planned),
    cloudError: look !== undefined && "failed" in look ? look.failed : undefined,
  });
}

/** What drifted, and what becomes of it. */
function judgedAt(
  nowMs: number,
  state: StackState,
  observation: Observation,
  provider: InfrastructureProvider,
): ReadonlyMap<NodeKey, JudgedItem> {
  const objects = state.transaction?.target.objects ?? [];
  const { items } = judgedDrift(state, observation, provider, rulesOfHealing(objects, nowMs));
  // What is extra may bear the identity of what is recorded.
  const recorded = items.filter(({ item }) => item.class !== "extra");
  return new Map(recorded.map((one) => [one.item.key, one]));
}

function unrecordedOf({ unrecorded }: Observation, planned: ReadonlySet<NodeKey>): string[] {
  return unrecorded
    .filter(({ phase, who }) => phase !== "gone" && !planned.has(keyOf(who)))
    .map(({ id, who }) => `${who.kind} ${who.name} (${id})`);
}

interface Reported {
  readonly state: StackState;
  readonly worker: StackWorker;
  readonly observation: Observation | undefined;
  readonly judged: ReadonlyMap<NodeKey, JudgedItem> | undefined;
  readonly provider: InfrastructureProvider | undefined;
}

class Reporter {
  private readonly recorded: readonly RecordedResource[];
  private readonly observed: ObservedResources | undefined;
  private readonly secretFields: readonly string[];

  constructor(private readonly about: Reported) {
    const { state, observation } = about;
    this.recorded = cloudResources(state);
    this.observed = observation && asNodesTell(observation);
    const told = [state.transaction?.target, state.revision?.target];
    this.secretFields = told.flatMap((target) => target?.secretFields ?? []);
  }

  /** The shared resources: planned ones in their order, then those that are to go. */
  infrastructure(): ResourceReport[] {
    const { nodes = [], machines = [] } = this.about.state.transaction?.target ?? {};
    const hosts = new Set(machines.map(({ host }) => host));
    const planned = nodes
      .filter(({ type, parent }) => type === "resource" && parent === undefined)
      .filter((node) => !hosts.has(keyOf(node)))
      .map(keyOf);
    const left = this.recorded
      .filter(({ key, parent }) => parent === undefined && !planned.includes(key))
      .map((record) => this.leaving(record));
    return [...this.externals(), ...planned.map((key) => this.resource(key)), ...left];
  }

  /** What is used and not ours: nobody looks at it here. */
  private externals(): ResourceReport[] {
    const { externals = [] } = this.about.state.transaction?.target ?? {};
    return externals.map((node) => ({
      key: keyOf(node),
      kind: node.kind,
      name: node.name,
      phase: "external",
      id: externalSpecOf(node).id,
      drift: [],
      reason: "it is not ours, and is left as it is",
    }));
  }

  machines(): MachineReport[] {
    const { transaction, revision } = this.about.state;
    const wanted = transaction?.target.machines ?? [];
    const names = new Set(wanted.map(({ name }) => name));
    // Machines that the open transaction takes away are there until it has.
    const removed = (revision?.target.machines ?? []).filter(
      ({ name }) => !names.has(name) && this.hostsOf(name).length > 0,
    );
    return [
      ...wanted.map((machine) => this.machine(machine, [this.resource(machine.host)])),
      ...removed.map((machine) => this.machine(machine, [])),
    ];
  }

  private machine(machine: TargetMachine, serving: readonly ResourceReport[]): MachineReport {
    const { name, controlPlane, owner, spec } = machine;
    const target = this.about.state.transaction?.target;
    const others = this.hostsOf(name)
      .filter(({ key }) => !serving.some((one) => one.key === key))
      .map((record) => this.leaving(record));
    const hosts = [...serving, ...others];
    return omitUndefined({
      name,
      controlPlane,
      machineSet: owner?.machineSet,
      machineDeployment: owner?.machineDeployment,
      failureDomain: target && failureDomainOf(machine, target, this.about.provider),
      versions: spec.versions,
      phase: hosts[0]?.phase ?? "unknown",
      reason: serving.length > 0 ? (serving[0]?.reason ?? "") : "nothing asks for it any more",
      hosts,
      providerSpec: withoutSecretFields(spec.providerSpec.value ?? {}, this.secretFields),
    });
  }

  private hostsOf(machine: string): RecordedResource[] {
    return this.recorded.filter(({ parent }) => parent === machineKey(machine));
  }

  private leaving(record: RecordedResource): ResourceReport {
    return { ...this.resource(record.key, record), reason: "is to be deleted" };
  }

  private resource(key: NodeKey, known?: RecordedResource): ResourceReport {
    const record = known ?? this.recorded.find((one) => one.key === key && !one.deleting);
    const [kind = "", ...name] = key.split("/");
    const head = { key, kind, name: name.join("/") };
    if (record === undefined) {
      return {
        ...head,
        phase: "planned",
        drift: [],
        reason: this.pendingReason(key) ?? "is not made yet",
      };
    }
    const observed = this.observed?.get(key);
    const phase = phaseOf(observed);
    const drift = driftedFields(record, observed);
    const node = this.about.observation && heldNode(this.about.state, this.about.observation, key);
    const onNode = nodeFields(recordedSpec(record), node);
    const address = addressOf(record, observed);
    const times = this.about.state.times?.get(record.urn);
    const { readySinceMs, node: told, failure } = nodeOf(observed);
    return omitUndefined({
      ...head,
      phase,
      id: record.id,
      address,
      sinceMs: times?.createdMs,
      changedMs: times?.modifiedMs,
      readySinceMs,
      node: told,
      failure,
      drift: [...drift, ...onNode],
      reason:
        this.pendingReason(key) ??
        reasonOf(record, observed, { drift, onNode, judged: this.about.judged?.get(key) }),
    });
  }

  /** The pending operation of a resource as a reason; undefined without one. */
  private pendingReason(key: NodeKey): string | undefined {
    const { state, worker } = this.about;
    const type = state.pending.find((operation) => operation.key === key)?.type;
    if (type === undefined) return undefined;
    const operation = `its ${operationNouns[type] ?? type}`;
    switch (worker.kind) {
      case "alive":
        return `${operation} is under way`;
      case "none":
        return `${operation} was interrupted; capstan up finds out how it ended`;
      case "unknown":
        return `${operation} is under way or was interrupted`;
    }
  }
}

/** Pulumi's words for pending operations, as nouns. */
const operationNouns: Readonly<Record<string, string>> = {
  creating: "creation",
  updating: "update",
  deleting: "deletion",
  reading: "refresh",
};

function phaseOf(observed: ObservedResource | undefined): ShownPhase {
  if (observed === undefined) return "unknown";
  return observed === "gone" ? "gone" : observed.phase;
}

function nodeOf(
  observed: ObservedResource | undefined,
): Pick<Observed, "readySinceMs" | "node" | "failure" | "leavesAtMs"> {
  return observed === undefined || observed === "gone" ? {} : observed;
}

function addressOf(
  record: RecordedResource,
  observed: ObservedResource | undefined,
): string | undefined {
  const status =
    observed === undefined || observed === "gone" ? record.outputs["status"] : observed.status;
  const address = ((status ?? {}) as JsonObject)["address"];
  return typeof address === "string" ? address : undefined;
}

function reasonOf(
  record: RecordedResource,
  observed: ObservedResource | undefined,
  about: {
    readonly drift: readonly DriftedField[];
    readonly onNode: readonly DriftedField[];
    readonly judged: JudgedItem | undefined;
  },
): string {
  const { drift, onNode, judged } = about;
  const phase = phaseOf(observed);
  const isIgnored = judged?.decision.kind === "ignore";
  const next = (what: string) => (isIgnored ? "ignored by policy" : `capstan up ${what}`);
  if (phase === "gone") return `is gone from the cloud; ${next("makes another")}`;
  if (record.unfinished) return "its last change did not finish; capstan up goes on with it";
  if (drift.length > 0) return `drifted: ${driftText(drift)}; ${next("corrects it")}`;
  if (judged?.item.class === "unhealthy") return unhealthyText(judged.item, judged.decision);
  if (judged?.item.class === "expiring") return expiringText(judged.item.expiry);
  if (onNode.length > 0) return `runs otherwise than its spec says: ${driftText(onNode)}`;
  if (phase === "stopped") return `is stopped${whyFailed(nodeOf(observed))}; ${next("starts it")}`;
  if (phase === "failed")
    return `failed in the cloud${whyFailed(nodeOf(observed))}; ${next("replaces it")}`;
  if (phase === "deleting") return `is being deleted; ${next("replaces it")}`;
  const { leavesAtMs } = nodeOf(observed);
  if (leavesAtMs !== undefined) return `${leavingText("it", leavesAtMs)}; ${next("replaces it")}`;
  const { node } = nodeOf(observed);
  const ailment = node && nodeAilment(node);
  if (phase === "pending")
    return node === undefined ? "boots" : (ailment ?? "its node is not ready");
  if (ailment !== undefined) return ailment;
  return node?.cordonedBy === undefined ? "" : `takes no pods: ${cordonText(node.cordonedBy)}`;
}

function unhealthyText(
  { ailment }: Extract<JudgedItem["item"], { class: "unhealthy" }>,
  { kind }: JudgedItem["decision"],
): string {
  const next = (): string => {
    if (kind === "ignore") return "ignored by policy";
    return kind === "correct" ? "capstan up replaces it" : "capstan drift says why it stays";
  };
  return `is unhealthy by ${ailmentText(ailment)}; ${next()}`;
}
