import { clusterNameOf, isControlPlane, stackNameOf } from "../api/types.js";
import { policiesOf, policyGoing } from "../compile/update-policy.js";
import { type GraphNode, inDependencyOrder, keyOf, nodeKey, type NodeKey } from "../graph/graph.js";
import type {
  CloudIdentity,
  Identity,
  InfrastructureProvider,
  Observed,
} from "../provider/port.js";
import {
  type DecidedHost,
  type InfrastructureChange,
  infrastructureChanges,
  inNameOrder,
  type MachineChange,
  machineChanges,
} from "./changes.js";
import { memberOfHostField } from "../provider/host-spec.js";
import { passedPoints, hostsOfPoint, refuseTakingBack } from "./point-of-no-return.js";
import { decideHost, type HostDecision, machineKey, spendIncarnations } from "./hosts.js";
import { type InfrastructureDecision, planInfrastructure } from "./infrastructure.js";
import { type LeavingHost, leavingHosts } from "./leaving.js";
import { directionOf, formerMachines, transactionOf } from "./planned-transaction.js";
import { refuseRemovals, type RemovalDecision } from "./protection.js";
import { type Refusal, RefusedChange } from "./refused-change.js";
import type { ObservedResources, Step } from "./step.js";
import {
  cloudResources,
  pendingDeletions,
  type PassedPoint,
  type TransactionGoal,
  type PriorState,
  type RecordedResource,
  type Target,
  targetDigest,
  type TargetMachine,
  type TransactionRecord,
} from "./target.js";
import { summaryOf } from "./tree.js";
import { plannedHost, spentSoFar, unknownResources, unrecordedCreations } from "./unrecorded.js";
import { type StageNote, stagedGoal } from "./staged.js";
import { type StepUndo, undoOf } from "./undo.js";
import { asFound } from "./adoption.js";
import { clusterIn, type CompiledGoal, type PlanGoal } from "./compiled-goal.js";

/** What the plan is made from. Everything that is not a pure function of it is in here. */
export interface PlanInput extends Pick<RemovalDecision, "removal"> {
  readonly planGoal: PlanGoal;
  readonly provider: InfrastructureProvider;
  readonly prior: PriorState;
  readonly observedResources: ObservedResources;
  /** Alive or gone resources with the cluster's marks that the state does not know. */
  readonly unrecorded: readonly Observed[];
  /** The cloud that was looked at; absent where the provider cannot tell. */
  readonly cloud?: CloudIdentity;
  /** Used when the state holds no transaction yet. */
  readonly newClusterUid: string;
  readonly nowMs: number;
  readonly owner: string;
  /** What is asked for. */
  readonly goal: TransactionGoal;
  /** "<user>@<host>". */
  readonly by: string;
  /** How long the transaction may take. */
  readonly deadlineMs: number;
  /** Random text, for a cluster without a transaction. */
  readonly newDigestKey?: string;
  /** Stages of an upgrade that the same command has brought about; none without. */
  readonly stagesBefore?: number;
  /** Why the last transaction was not finished, for history. */
  readonly failure?: string;
  /** Who is to own the stack from this transaction on; absent: who owns it. */
  readonly handOverTo?: string;
}

/** A transaction without its target, which the plan holds beside it. */
export type PlannedTransaction = Omit<TransactionRecord, "target">;

/** A resource with this cluster's UID, so made by an earlier apply, that is to be removed. */
export interface OrphanedResource {
  readonly id: string;
  readonly who: Identity;
}

/** A resource that is not as it is recorded, and why a plan does not touch it. */
export interface IgnoredDrift {
  readonly key: NodeKey;
  readonly because: "report" | "ignore" | "frozen" | "overBudget";
}

/** Why the look that a plan was made from is implausible. */
export interface Hold {
  readonly reason: string;
  /** Says which answer of the cloud it is: the same as in `capstan drift`. */
  readonly fingerprint: string;
  /** Why it is believed all the same: a person says so, or the cloud has proven to be the right one. */
  readonly believed?: "person" | "proven";
}

/** The same value is printed, and applied. JSON data. */
export interface Plan {
  readonly cluster: string;
  readonly stack: string;
  readonly provider: string;
  /** Number of the last committed revision; 0 for none. */
  readonly fromRevision: number;
  readonly transaction: PlannedTransaction;
  readonly target: Target;
  readonly targetDigest: string;
  /** Creations and updates in dependency order, then deletions. */
  readonly steps: readonly Step[];
  /** How each step can be taken back, in the order of the steps. */
  readonly undo: readonly StepUndo[];
  /** Hosts that a point of no return of the transaction is told by: beyond it, forward only. */
  readonly pointsOfNoReturn: readonly NodeKey[];
  /** With what an open transaction is beyond its point of no return already. */
  readonly passed: readonly PassedPoint[];
  /** Records to read again from the cloud before the first pass. */
  readonly stale: readonly NodeKey[];
  /** Of a plan back: what somebody else has changed, so that it stays as it is recorded. */
  readonly left: readonly NodeKey[];
  /** An earlier transaction did not get to its end. */
  readonly resumes: boolean;
  /** That transaction, which this one goes on with when the numbers are the same. */
  readonly open?: Pick<TransactionRecord, "number" | "direction" | "goal" | "by">;
  readonly infrastructure: readonly InfrastructureChange[];
  readonly machines: readonly MachineChange[];
  /** Hosts that go, and whose they were: what decides when each may. */
  readonly leaving: readonly LeavingHost[];
  /** What an apply that broke off left alive, in no record and wanted by nothing: removed first. */
  readonly orphaned: readonly OrphanedResource[];
  /** What else is alive in the cloud with the cluster's marks and that nobody knows. */
  readonly unrecorded: readonly string[];
  /** Nothing to do: state, cloud and objects agree. */
  readonly empty: boolean;
  /** What has drifted and is left as it is; absent: nothing. */
  readonly ignoredDrift?: readonly IgnoredDrift[];
  /** What it was made from is implausible; unless it is believed nobody carries it out. */
  readonly held?: Hold;
  /** This is one stage of several: a control plane goes one minor version at a time. */
  readonly stage?: StageNote;
}

/**
 * Holds what is wanted against state and cloud. Pure: the same input gives the same plan. Throws
 * UNSUPPORTED_CHANGE, PROTECTED (all of them at once), INVALID_INPUT (names that clash), GRAPH_CYCLE, and
 * NOT_REVERSIBLE for a control plane older than what an open transaction has brought it to.
 */
export function makePlan(input: PlanInput): Plan {
  const { provider, prior, observedResources, planGoal } = input;
  if (input.goal.kind === "adopt" && planGoal.kind === "recorded") {
    return assemble(input, planGoal.target, asFound(planGoal.target, input));
  }
  const { compiledGoal, whole, stage } = stagedGoal(input);
  refuseRemovals(input, whole);
  const recorded = cloudResources(prior);
  const mayReplace = replaceableIn(input);
  const infrastructure = planInfrastructure(provider, compiledGoal, {
    recorded: recorded.filter(({ kind }) => kind !== provider.hostKind),
    unrecorded: unrecordedCreations(input),
    observedResources,
    mayReplace,
  });
  const spent = spentSoFar(input);
  const policyOf = policiesOf(compiledGoal.objects);
  const decided = compiledGoal.machines.map((machine) => {
    const referenced = infrastructure.rename(compiledGoal.hosts.get(machine.name) ?? {});
    const resolved = infrastructure.resolve(referenced);
    const decision = decideHost(provider, {
      machine: machine.name,
      wanted: resolved,
      referenced,
      recorded: hostsOf(machine.name, provider, recorded),
      ...preferredHost(input, machine.name),
      observedResources,
      spent,
      policy: policyGoing(directionOf(input.goal), policyOf(machine)),
      replacesFailed: input.goal.kind !== "takeBack",
      mayReplace,
      ...plannedHost(input, machine.name),
    });
    return {
      machine,
      controlPlane: isControlPlane(machine.spec),
      decision,
      spec: referenced,
      wanted: resolved,
    };
  });
  refuseUnsupported(infrastructure.decisions, decided);
  const target = targetOf(compiledGoal, provider, infrastructure.decisions, decided);
  const plan = assemble(input, target, {
    infrastructure: infrastructure.decisions,
    hosts: decided,
    going: compiledGoal.going,
  });
  return stage === undefined ? plan : { ...plan, stage };
}

function targetOf(
  { cluster, objects }: CompiledGoal,
  provider: InfrastructureProvider,
  infrastructure: readonly InfrastructureDecision[],
  hosts: readonly DecidedHost[],
): Target {
  const machines: TargetMachine[] = hosts
    .map(({ machine, controlPlane, decision }) => ({
      ...machine,
      controlPlane,
      host: nodeKey(provider.hostKind, decision.name),
    }))
    .sort((left, right) => inNameOrder(left.name, right.name));
  const controlPlane = machines.filter((machine) => machine.controlPlane).map(({ host }) => host);
  const byMachine = new Map(hosts.map((host) => [host.machine.name, host]));
  const hostNodes = machines.flatMap((machine): GraphNode[] => {
    const { decision, spec } = byMachine.get(machine.name) as DecidedHost;
    return [
      { kind: "Machine", name: machine.name, type: "component", spec: {}, dependsOn: [] },
      {
        kind: provider.hostKind,
        name: decision.name,
        type: "resource",
        parent: machineKey(machine.name),
        spec,
        // Workers join a control plane that answers: it comes first, and goes last.
        dependsOn: machine.controlPlane ? [] : controlPlane,
      },
    ];
  });
  return {
    cluster: clusterNameOf(cluster),
    provider: provider.name,
    objects,
    machines,
    nodes: [...infrastructure.map(({ node }) => node), ...hostNodes],
  };
}

/** All that was decided about what is wanted. */
export interface Decided extends Pick<CompiledGoal, "going"> {
  readonly infrastructure: readonly InfrastructureDecision[];
  readonly hosts: readonly DecidedHost[];
}

function assemble(
  input: PlanInput,
  target: Target,
  { infrastructure, hosts, going }: Decided,
): Plan {
  const { prior, provider } = input;
  const digest = targetDigest(target);
  const targetKeys = new Set(target.nodes.map(keyOf));
  const recorded = cloudResources(prior);
  const toDelete = recorded.filter(({ key }) => !targetKeys.has(key));
  const decisions = decisionsByKey(infrastructure, hosts, provider);
  const steps = [
    ...inDependencyOrder(target.nodes).flatMap((node) =>
      stepOf(keyOf(node), decisions.get(keyOf(node))),
    ),
    ...toDelete.map((resource) => deletionOf(resource, target, input.observedResources)),
  ];
  const shown = {
    steps,
    infrastructure: infrastructureChanges(infrastructure, toDelete, provider),
    machines: machineChanges({ hosts, prior, provider, going }),
    target,
    cluster: target.cluster,
  };
  const names = hosts.map(({ decision }) => decision.name);
  const { orphaned, unrecorded } = unknownResources(input, target);
  const passed = passedPoints(input);
  const leaving = leavingHosts(input, new Set(toDelete.map(({ key }) => key)), target);
  refuseUnlessAsked(input, target, passed);
  const undo = undoOf({
    provider,
    goal: input.goal,
    steps,
    target,
    from: prior.revision?.target,
    recorded: recorded.filter(({ key }) => input.observedResources.get(key) !== "gone"),
  });
  const transaction = transactionOf(input, digest, {
    steps,
    undo,
    spent: spendIncarnations(spentSoFar(input), names),
    passed,
    former: formerMachines(prior, leaving, target),
    summary: () => summaryOf(shown),
  });
  const last = prior.transaction;
  const idle = last?.number === prior.revision?.number && last?.number === transaction.number;
  return {
    ...shown,
    stack: stackNameOf(clusterIn(target)),
    provider: provider.name,
    fromRevision: prior.revision?.number ?? 0,
    transaction,
    targetDigest: digest,
    undo: undo.undo,
    leaving,
    pointsOfNoReturn: (transaction.pointsOfNoReturn ?? []).flatMap(hostsOfPoint),
    passed,
    stale: staleKeys(prior, infrastructure, hosts, provider),
    left: [...decisions].filter(([, { isLeft }]) => isLeft === true).map(([key]) => key),
    resumes: isOpen(prior),
    ...openTransaction(prior),
    orphaned,
    unrecorded,
    empty: idle && steps.length === 0 && orphaned.length === 0 && !isCleanupPending(prior),
  };
}

/** Nothing leads back over a point of no return, but for who asks for just that. */
function refuseUnlessAsked(
  { goal, prior: { transaction }, provider }: PlanInput,
  target: Target,
  passed: readonly PassedPoint[],
): void {
  if (goal.kind === "takeBack" || goal.kind === "destroy") return;
  refuseTakingBack(target, passed, {
    provider,
    ...(transaction !== undefined && { transaction }),
  });
}

function decisionsByKey(
  infrastructure: readonly InfrastructureDecision[],
  hosts: readonly DecidedHost[],
  { hostKind }: InfrastructureProvider,
): Map<NodeKey, Decision> {
  return new Map<NodeKey, Decision>([
    ...infrastructure.map((one) => [keyOf(one.node), one] as const),
    ...hosts.map(({ decision }) => [nodeKey(hostKind, decision.name), decision] as const),
  ]);
}

/** Entries to clear, or records pending deletion to drop: any pass does it. */
function isCleanupPending(prior: PriorState): boolean {
  return prior.pending.length > 0 || pendingDeletions(prior).length > 0;
}

function openTransaction(prior: PriorState): Pick<Plan, "open"> {
  const { transaction } = prior;
  if (transaction === undefined || !isOpen(prior)) return {};
  const { number, direction, goal, by } = transaction;
  return { open: { number, direction, goal, by } };
}

/** Whether the last transaction did not get to its commit. */
export function isOpen({ transaction, revision }: PriorState): boolean {
  return transaction !== undefined && transaction.number !== revision?.number;
}

type Decision = Pick<
  InfrastructureDecision | HostDecision,
  "kind" | "changes" | "reason" | "isLeft"
>;

/**
 * Law 9: what the revision has, and is alive, was there before. Taking a transaction back replaces of it
 * only what the transaction itself was to change beyond repair, as its plan has said; anything else that
 * cannot follow, since somebody else has changed it, is left as it is.
 */
function replaceableIn({ goal, prior }: PlanInput): (key: NodeKey) => boolean {
  if (goal.kind !== "takeBack") return () => true;
  const before = new Set(prior.revision?.target.nodes.map(keyOf));
  const compensable = new Set(prior.transaction?.compensable);
  return (key) => !before.has(key) || compensable.has(key);
}

/** A node that nothing was decided about is a component: it comes and goes with its hosts. */
function stepOf(key: NodeKey, decision: Decision | undefined): Step[] {
  if (decision === undefined || decision.kind === "same") return [];
  const { kind, changes, reason } = decision;
  if (kind === "update") return [{ kind, key, changes, reason }];
  return [{ kind: kind === "adopt" ? "adopt" : "create", key, reason }];
}

function deletionOf(
  resource: RecordedResource,
  target: Target,
  observedResources: ObservedResources,
): Step {
  const machine = resource.parent?.replace(/^Machine\//, "");
  const successor = target.machines.find(({ name }) => name === machine);
  const gone = observedResources.get(resource.key) === "gone";
  const reason = gone
    ? "it is gone from the cloud; only its record is left"
    : successor !== undefined
      ? `${successor.host} serves instead`
      : "nothing asks for it any more";
  return { kind: "delete", key: resource.key, reason };
}

/**
 * Drifted records, and all unfinished ones: Pulumi would update those in every pass, also in one that
 * only keeps them, and what is gone or cannot follow would fail it each time.
 */
function staleKeys(
  prior: PriorState,
  infrastructure: readonly InfrastructureDecision[],
  hosts: readonly DecidedHost[],
  provider: InfrastructureProvider,
): NodeKey[] {
  const unfinished = cloudResources(prior).filter((resource) => resource.unfinished);
  const keys = [
    ...unfinished.map(({ key }) => key),
    ...infrastructure.filter(({ stale }) => stale).map(({ node }) => keyOf(node)),
    ...hosts
      .filter(({ decision }) => decision.stale)
      .map(({ decision }) => nodeKey(provider.hostKind, decision.name)),
  ];
  return [...new Set(keys)];
}

function hostsOf(
  machine: string,
  provider: InfrastructureProvider,
  recorded: readonly RecordedResource[],
): RecordedResource[] {
  return recorded.filter(
    ({ kind, parent, deleting }) =>
      kind === provider.hostKind && parent === machineKey(machine) && !deleting,
  );
}

/** Never left to the order of the state, which every pass may change. */
function preferredHost({ planGoal, prior }: PlanInput, machine: string) {
  const target = planGoal.kind === "recorded" ? planGoal.target : prior.revision?.target;
  const host = target?.machines.find(({ name }) => name === machine)?.host;
  return host === undefined ? {} : { preferred: host };
}

function refuseUnsupported(
  infrastructure: readonly InfrastructureDecision[],
  hosts: readonly DecidedHost[],
): void {
  const refusals: Refusal[] = [
    ...infrastructure
      .filter(({ kind }) => kind === "unsupported")
      .map(({ node, reason }) => ({ subject: `${node.kind} ${node.name}`, reason })),
    ...hosts
      .filter(({ decision }) => decision.kind === "unsupported")
      .map(({ machine, decision: { reason, changes } }) => ({
        subject: `Machine ${machine.name}`,
        reason,
        machine,
        member: memberOfHostField(changes[0]?.path ?? ""),
      })),
  ];
  if (refusals.length === 0) return;
  throw new RefusedChange(refusals, "take the change back, or delete and recreate the object");
}
