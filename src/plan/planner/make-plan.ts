import { omitUndefined } from "../../api/omit-undefined.js";
import { isControlPlane, clusterNameOf, providerValue, stackNameOf } from "../../api/types.js";
import { policiesOf, policyGoing } from "../../compile/update-policy.js";
import { decideHost, spendIncarnations } from "../decisions/hosts.js";
import {
  type InfrastructureDecision,
  type KnownInfrastructure,
  planInfrastructure,
} from "../decisions/infrastructure.js";
import { changesRecordsOnly, directionOf, type PassedPoint } from "../../records/transaction.js";
import { refuseMisfits } from "../refusals/misfits.js";
import { refuseRemovals } from "../refusals/protection.js";
import {
  cloudResources,
  isOpen,
  pendingDeletions,
  type PriorState,
  type RecordedResource,
  unrecordedRevision,
} from "../../records/prior-state.js";
import {
  plannedHost,
  spentSoFar,
  supersededKeys,
  unrecordedCreations,
  usedNames,
  unknownResources,
} from "../decisions/unrecorded.js";
import { withMovedMachines } from "../goal/moved-machines.js";
import { stagedGoal } from "../goal/staged-goal.js";
import { asRecorded } from "../decisions/as-recorded.js";
import { givenUpBy, withGivenUp } from "../decisions/giving-up.js";
import { letGoIn } from "../decisions/letting-go.js";
import { policiesToldTo } from "../decisions/satellite-policies.js";
import { keptSatellites, planSatellites, withoutOutlived } from "../decisions/satellites.js";
import { isLiving } from "../observation.js";
import type { PlanInput } from "../plan-input.js";
import { reasonText, type InfrastructureChange, type Plan, type RemainingPlan } from "../plan.js";
import { type GraphNode, nodeKey, keyOf, type NodeKey } from "../../graph/graph.js";
import type { InfrastructureProvider, Lookups } from "../../provider/port.js";
import type { DecidedHost, Decided } from "../decisions/decided.js";
import { inNameOrder } from "../../sets/name-order.js";
import {
  inTargetOrder,
  machineKey,
  type Target,
  type TargetMachine,
  targetDigest,
  clusterIn,
} from "../../records/target.js";
import { type CompiledGoal, frozen } from "../goal/compiled-goal.js";
import { informed } from "../../compile/lookups.js";
import { withMarkedSecrets, withoutSecretValues } from "../changes/secret-values.js";
import { externalChanges, lookupChanges } from "../changes/found-changes.js";
import { infrastructureChanges, machineChanges } from "../changes/changes.js";
import { passedPoints, hostsOfPoint, refuseTakingBack } from "../undo/point-of-no-return.js";
import { leavingHosts } from "../changes/leaving.js";
import { decisionsByKey, deletionOf, stepsToward } from "./planned-steps.js";
import { formerMachines, transactionOf } from "./planned-transaction.js";
import { staleKeys } from "./stale-records.js";
import { summaryOf } from "../changes/tree.js";
import { replaceableOnTheWayBack } from "../undo/compensable.js";
import { keylessFindings } from "../refusals/keyless.js";
import { refuseLostRecords } from "../refusals/lost-records.js";
import { laterKeys } from "../decisions/later-keys.js";
import { refuseOlderState } from "../refusals/older-state.js";
import { undoOf } from "../undo/undo.js";
import type { Judged } from "../decisions/verdicts.js";
import { wavesOf } from "../waves/list-waves.js";
import { joiningTerms } from "../../provider/joining-terms.js";
import { firstStage } from "../../api/key-stage.js";
import { hostKeysOf, stageOfHost } from "../../records/recorded-keys.js";
import { refuseDistrust, wantedStage } from "../refusals/distrust.js";
import { memberOfHostField } from "../../provider/host-spec.js";
import { type Refusal, RefusedChange } from "../refused-change.js";

/**
 * Holds what is wanted against state and cloud. Pure: the same input gives the same plan. Throws
 * UNSUPPORTED_CHANGE, PROTECTED (all of them at once), INVALID_INPUT (names that clash), GRAPH_CYCLE, AMBIGUOUS_OWNER for
 * a state that is older than the cloud, BAD_STATE for one that lacks records, and NOT_REVERSIBLE for a control plane older than what an open transaction has brought it to.
 */
export function makePlan(input: PlanInput): Plan {
  const plan = planRemaining(input);
  refuseOlderState(input, () => plan.target);
  refuseLostRecords(input, plan);
  const foreseen = keylessFindings(input, plan);
  return omitUndefined<Plan>({
    ...plan,
    waves: wavesOf(plan),
    foreseen: foreseen.length === 0 ? undefined : foreseen,
    laterKeys: laterKeys(input, plan),
  });
}

/** The same without its waves. A run asks before each pass what is left, and needs only what comes next. */
export function planRemaining(given: PlanInput): RemainingPlan {
  const provider = informed(given.provider, answersOf(given));
  const recordsAs = targetOfRecords(given);
  if (recordsAs !== undefined) {
    if (given.goal.kind === "forget") refuseRemovals(given, frozen(recordsAs, provider));
    return assemble(given, given.prior, recordsAs, asRecorded(recordsAs, { ...given, provider }));
  }
  const moved = withMovedMachines({ ...given, provider });
  const observedResources = withGivenUp(given);
  const input = { ...given, provider, prior: moved, observedResources };
  const { prior } = input;
  const { compiledGoal, whole, stage } = stagedGoal(input);
  refuseRemovals(input, whole);
  const recorded = cloudResources(prior);
  const mayReplace = replaceableIn(input);
  const known = { ...knownInfrastructure(input, recorded), mayReplace };
  const infrastructure = planInfrastructure(provider, compiledGoal, known);
  const spent = spentSoFar(input);
  const policyOf = policiesOf(compiledGoal.objects);
  const keyStage = wantedStage(input);
  refuseDistrust(input, keyStage);
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
      replacesFailed: known.replacesFailed,
      keyStage,
      // Of a cluster without records nobody knows it.
      stageOfHost: (host) =>
        prior.transaction === undefined ? keyStage : stageOfHost(prior, host),
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
  const satellites = planSatellites(input, compiledGoal, decided, { ...known, ...infrastructure });
  const shared = [...withoutOutlived(infrastructure.decisions), ...satellites];
  refuseUnsupported(shared, decided);
  if (given.planGoal.kind === "objects" || input.goal.kind === "rotateKeys") {
    refuseMisfits(compiledGoal.cluster, provider, decided, keyStage);
  }
  const target = omitUndefined<Target>({
    ...targetOf(compiledGoal, provider, shared, decided),
    keyStage: keyStage === firstStage ? undefined : keyStage,
    lookups: compiledGoal.lookups,
    externals: compiledGoal.externals.length === 0 ? undefined : compiledGoal.externals,
  });
  const plan = assemble(input, given.prior, target, {
    infrastructure: shared,
    hosts: decided,
    going: compiledGoal.going,
    policies: policiesToldTo(input, compiledGoal),
  });
  return stage === undefined ? plan : { ...plan, stage };
}

/** What there is beside hosts. */
function knownInfrastructure(
  input: PlanInput,
  recorded: readonly RecordedResource[],
): Omit<KnownInfrastructure, "mayReplace"> {
  const { provider, observedResources } = input;
  return {
    recorded: recorded.filter(({ kind }) => kind !== provider.hostKind),
    unrecorded: unrecordedCreations(input),
    observedResources,
    used: usedNames(input),
    committed: new Set(input.prior.revision?.target.nodes.map(keyOf)),
    replacesFailed: replacesFailedIn(input),
  };
}

/** A recorded graph keeps what was looked up for it. */
function answersOf({ planGoal, lookups }: PlanInput): Lookups | undefined {
  return planGoal.kind === "recorded" ? planGoal.target.lookups : lookups;
}

function targetOf(
  { cluster, objects }: CompiledGoal,
  provider: InfrastructureProvider,
  infrastructure: readonly InfrastructureDecision[],
  hosts: readonly DecidedHost[],
): Target {
  const ordered = hosts.toSorted((left, right) =>
    inNameOrder(left.machine.name, right.machine.name),
  );
  const machines = ordered.map(({ machine, controlPlane, decision }): TargetMachine => ({
    ...machine,
    controlPlane,
    host: nodeKey(provider.hostKind, decision.name),
  }));
  const controlPlane = machines.filter((machine) => machine.controlPlane).map(({ host }) => host);
  const shared = infrastructure.map(({ node }) => node);
  const hostNodes = ordered.flatMap((host): GraphNode[] => [
    { kind: "Machine", name: host.machine.name, type: "component", spec: {}, dependsOn: [] },
    {
      kind: provider.hostKind,
      name: host.decision.name,
      type: "resource",
      parent: machineKey(host.machine.name),
      spec: host.spec,
      // Workers join a control plane that answers: it comes first, and goes last.
      dependsOn: host.controlPlane ? [] : controlPlane,
    },
  ]);
  return {
    cluster: clusterNameOf(cluster),
    provider: provider.name,
    objects,
    machines,
    nodes: inTargetOrder([...shared, ...hostNodes], machines),
  };
}

/** `written`: what the records really say; those of the input read as if machines had moved already. */
function assemble(
  input: PlanInput,
  written: PriorState,
  bare: Target,
  { infrastructure, hosts, going, policies }: Decided,
): RemainingPlan {
  const { prior, provider } = input;
  const target = withMarkedSecrets(bare, provider);
  const digest = targetDigest(target);
  const targetKeys = new Set(target.nodes.map(keyOf));
  const recorded = cloudResources(prior);
  const toDelete = recorded.filter(({ key }) => !targetKeys.has(key));
  const letGo = new Set([...letGoIn(input), ...keptSatellites(input, targetKeys, policies)]);
  const decisions = decisionsByKey(infrastructure, hosts, provider);
  const steps = [
    ...stepsToward(target, decisions, provider),
    ...toDelete.map((resource) => deletionOf(resource, target, input, letGo)),
  ];
  const changes = {
    steps,
    infrastructure: resourceChanges(input, target, { infrastructure, hosts, toDelete, letGo }),
    machines: machineChanges(input, { hosts, written, going, letGo, steps }),
  };
  const shown = { ...withoutSecretValues(changes, { target, prior, provider }), target };
  const { orphaned, unrecorded } = unknownResources(input, target, letGo);
  const found = orphaned.map(({ who }) => keyOf(who));
  const passed = passedPoints(input);
  const leaving = leavingHosts(input, new Set(toDelete.map(({ key }) => key)), target);
  refuseUnlessAsked(input, target, passed);
  const undo = undoOf({ ...undoInput(input, recorded), steps, target });
  const stale = staleKeys(input, target, { infrastructure, hosts });
  const left = [...decisions].filter(([, { isLeft }]) => isLeft === true).map(([key]) => key);
  const transaction = transactionOf({ ...input, prior: written }, digest, {
    steps,
    differing: new Set([...steps.map(({ key }) => key), ...stale, ...left]),
    undo,
    spent: spendIncarnations(spentSoFar(input), hosts.map(nameOfHost)),
    hostKeys: hostKeysOf(target, prior, found),
    givenUp: givenUpBy(input, target),
    passed,
    former: formerMachines(prior, { leaving, orphaned }, target),
    superseded: supersededKeys(prior, target, provider.hostKind),
    letGo,
    going: { leaving, orphaned, target },
    summary: () => summaryOf({ ...shown, cluster: target.cluster }),
  });
  const idle = isIdle(prior, transaction.number);
  return {
    ...shown,
    cluster: target.cluster,
    stack: stackNameOf(clusterIn(target)),
    provider: provider.name,
    oneBegins: joiningTerms(provider, providerValue(clusterIn(target).spec)) !== undefined,
    fromRevision: prior.revision?.number ?? 0,
    transaction,
    targetDigest: digest,
    undo: undo.undo,
    leaving,
    pointsOfNoReturn: (transaction.pointsOfNoReturn ?? []).flatMap(hostsOfPoint),
    passed,
    stale,
    left,
    ...openTransaction(prior),
    ...lookupChanges(input, target),
    orphaned,
    unrecorded,
    empty: idle && steps.length === 0 && orphaned.length === 0 && !areRecordsUnfinished(prior),
  };
}

function undoInput(
  { provider, goal, prior, observedResources }: PlanInput,
  recorded: readonly RecordedResource[],
) {
  const living = recorded.filter(({ key }) => isLiving(observedResources.get(key)));
  return { provider, goal, from: prior.revision?.target, recorded: living };
}

/** All that is no host, others' first. */
function resourceChanges(
  { prior, provider }: PlanInput,
  target: Target,
  decided: Pick<Decided, "infrastructure" | "hosts"> & {
    readonly toDelete: readonly RecordedResource[];
    readonly letGo: ReadonlySet<NodeKey>;
  },
): InfrastructureChange[] {
  const { infrastructure: decisions, ...others } = decided;
  const ours = infrastructureChanges({ decisions, ...others, prior, provider });
  return [...externalChanges(target, prior), ...ours];
}

/** Nothing is open, and nothing new is to be recorded. */
function isIdle({ transaction, revision }: PriorState, number: number): boolean {
  return transaction?.number === revision?.number && transaction?.number === number;
}

function nameOfHost({ decision }: DecidedHost): string {
  return decision.name;
}

/** Nothing leads back over a point of no return, but for who asks for just that. */
function refuseUnlessAsked(
  { goal, prior: { transaction }, provider }: PlanInput,
  target: Target,
  passed: readonly PassedPoint[],
): void {
  if (goal.kind === "takeBack" || goal.kind === "destroy") return;
  refuseTakingBack(target, passed, omitUndefined({ provider, transaction }));
}

/**
 * Entries to clear, records pending deletion to drop, or a revision that was committed and whose own record a kill
 * forestalled: any commit does it.
 */
function areRecordsUnfinished(prior: PriorState): boolean {
  const isRevisionMissing = unrecordedRevision(prior) !== undefined;
  return isRevisionMissing || prior.pending.length > 0 || pendingDeletions(prior).length > 0;
}

function openTransaction(prior: PriorState): Pick<Plan, "open"> {
  const { transaction } = prior;
  if (transaction === undefined || !isOpen(prior)) return {};
  const { number, direction, goal, by } = transaction;
  return { open: { number, direction, goal, by } };
}

/** What was made since the revision serves nobody if it failed: whoever finishes the way back makes it anew. */
function replacesFailedIn({ goal, prior }: PlanInput): (resource: NodeKey) => boolean {
  if (goal.kind !== "takeBack") return () => true;
  const before = keysBefore(prior);
  return (resource) => !before.has(resource);
}

function keysBefore({ revision }: PriorState): ReadonlySet<NodeKey> {
  return new Set(revision?.target.nodes.map(keyOf));
}

function replaceableIn({ goal, prior }: PlanInput): (judged: Judged) => boolean {
  if (goal.kind !== "takeBack") return () => true;
  const before = keysBefore(prior);
  return replaceableOnTheWayBack(before, prior.transaction ?? { compensable: [] });
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

/** The target of a plan that gives its machines records, or forgets one, and changes nothing else; undefined of all others. Pure. */
export function targetOfRecords({ goal, planGoal }: PlanInput): Target | undefined {
  return changesRecordsOnly(goal) && planGoal.kind === "recorded" ? planGoal.target : undefined;
}

/** Never left to the order of the state, which every pass may change. */
function preferredHost({ planGoal, prior }: PlanInput, machine: string) {
  const target = planGoal.kind === "recorded" ? planGoal.target : prior.revision?.target;
  const host = target?.machines.find(({ name }) => name === machine)?.host;
  const isDecided = planGoal.kind === "recorded";
  return host === undefined ? { isDecided } : { preferred: host, isDecided };
}

function refuseUnsupported(
  infrastructure: readonly InfrastructureDecision[],
  hosts: readonly DecidedHost[],
): void {
  const refusals: Refusal[] = [
    ...infrastructure
      .filter(({ kind }) => kind === "unsupported")
      .map(({ node, reasons }) => ({
        subject: `${node.kind} ${node.name}`,
        reason: reasonText(reasons),
      })),
    ...hosts
      .filter(({ decision }) => decision.kind === "unsupported")
      .map(({ machine, decision: { reasons, changes } }) => ({
        subject: `Machine ${machine.name}`,
        reason: reasonText(reasons),
        machine,
        member: memberOfHostField(changes[0]?.path ?? ""),
      })),
  ];
  if (refusals.length === 0) return;
  throw new RefusedChange(refusals, "take the change back, or delete and recreate the object");
}
