import { CapstanError, expectDefined, isCapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { Desired } from "../../api/types.js";
import { type DriftFilter, noFilter } from "../../drift/drift-filter.js";
import {
  type PlanDriftRules,
  type PlanRequest,
  planThrough,
  planWithDrift,
} from "../../drift/plan-with-drift.js";
import { foreseenFailure } from "../../plan/foreseen.js";
import type { Plan } from "../../plan/plan.js";
import { passedPoints, passedText, onwardText } from "../../plan/undo/point-of-no-return.js";
import type { RemovalDecision } from "../../plan/refusals/protection.js";
import type {
  GivenUp,
  PassedPoint,
  TransactionGoal,
  TransactionRecord,
} from "../../records/transaction.js";
import type { PriorState } from "../../records/prior-state.js";
import { isOpen } from "../../records/prior-state.js";
import { type Target, emptied } from "../../records/target.js";
import { timingOf } from "../../provider/timing.js";
import { forgetAdoption, isAdopting } from "./adopt.js";
import { refuseWithoutExternals } from "./externals.js";
import { areNamesSpent, givenUpAfter, HostsDead, withoutWayBack } from "../run/failures.js";
import { refusedForRoom } from "../run/late-refusals.js";
import { observe, type Observation } from "../run/observe.js";
import { Run } from "../run/run.js";
import { withUnjoinedMembers } from "../run/unjoined-members.js";
import type { RunOptions, RunResult } from "../run/run-options.js";
import { callContext } from "../run/handler-session.js";
import type { StackState } from "../backend/state.js";
import type { ApplyResult } from "./apply-result.js";

/** Who asks, and how long the transaction may take. */
export interface RequestInfo {
  /** "<user>@<host>". */
  readonly by: string;
  /** Milliseconds from its begin to its commit. */
  readonly deadlineMs: number;
}

/**
 * Carries out a plan stepwise until its revision is committed and what it supersedes is deleted. Names that the cloud shows
 * to be spent are given up for fresh ones, in another transaction toward the same target, so are hosts that it has accepted and has no
 * room for, where an alternative is left, and so are, once, hosts that an earlier command
 * made and that do not come up. When
 * it fails it is rolled back to the last revision, or to nothing, unless the options or a point of no
 * return forbid it. `state` is what the plan was made from. Throws CANCELLED when interrupted, and what
 * a look at the cloud failed with; the transaction then stays open, everything that exists recorded.
 */
export async function applyPlan(
  plan: Plan,
  state: StackState,
  options: RunOptions & RequestInfo,
  plans = plansForward,
): Promise<ApplyResult> {
  const foreseen = foreseenFailure(plan);
  if (foreseen !== undefined) return { kind: "stopped", result: "untouched", failure: foreseen };
  const result = await new Run(plan, state, options).toTheEnd();
  if (result.kind === "done") return result;
  const failure = failureOf(plan, result);
  const otherwise = servingOtherwise(failure, result.state, options);
  if (otherwise !== undefined && plans > lastPlan) {
    const fresh = await planAnew(plan, result.state, failure, options);
    return applyPlan(fresh, result.state, otherwise, plans - 1);
  }
  const late = inheritedOnly(givenUpAfter(failure, result.state), plan);
  const isOverdue = options.clock.now() > plan.transaction.deadlineAtMs;
  if (late !== undefined && !isOverdue && plans > lastPlan) {
    const fresh = await planAnew(plan, result.state, failure, { ...options, givenUp: late });
    return applyPlan(fresh, result.state, options, lastPlan);
  }
  if (result.result !== "rollBack") return { kind: "stopped", result: result.result, failure };
  // What a create whose answer was lost has made may be in a listing only, and listings lag.
  await options.clock.sleep(timingOf(options.provider).listingLagMs, options.stop);
  try {
    return await takeBack(result.state, failure, options);
  } catch (error) {
    // A policy or what is done already can rule the way back out; what failed first is what people have to know.
    if (!isCapstanError(error) || !noWayBack.has(error.code)) throw error;
    return { kind: "stopped", result: "forwardOnly", failure: withoutWayBack(failure, error) };
  }
}

/**
 * What a next plan goes on with, where other hosts can take the place of those that failed: under fresh names, or as what there is room for.
 * Undefined: none can. Pure.
 */
function servingOtherwise<Options extends RunOptions>(
  failure: CapstanError | undefined,
  state: PriorState,
  options: Options,
): Options | undefined {
  if (areNamesSpent(failure)) return options;
  const withoutRoom = refusedForRoom(options.provider, failure, state, options.withoutRoom);
  return withoutRoom && { ...options, withoutRoom };
}

/**
 * What is given up, where all of it was made by earlier commands: it has had its time, and nobody waits for it a second time in vain. What
 * the plan itself was to create has failed it. Undefined: nothing is to be planned anew for. Pure.
 */
function inheritedOnly(givenUp: GivenUp | undefined, { steps }: Plan): GivenUp | undefined {
  const own = new Set<string>(steps.flatMap(({ kind, key }) => (kind === "create" ? [key] : [])));
  return Object.keys(givenUp ?? {}).some((key) => own.has(key)) ? undefined : givenUp;
}

/**
 * Toward the target of a plan that met spent names, or hosts that an earlier command had made in vain: what was answered is
 * recorded, and planning reads it. Tells of it.
 */
async function planAnew(
  { target, transaction }: Plan,
  state: StackState,
  { message: reason }: CapstanError,
  options: RunOptions & RequestInfo & Pick<PlanningOptions, "givenUp">,
): Promise<Plan> {
  const { driftFilter: drift = noFilter, report } = options;
  const { goal } = transaction;
  const { plan } = await planRecorded(target, state, {
    ...options,
    drift,
    goal,
    removal: "accepted",
  });
  report({ kind: "plannedAnew", plan, reason });
  return plan;
}

const noWayBack: ReadonlySet<CapstanError["code"]> = new Set([
  "NOT_REVERSIBLE",
  "UNSUPPORTED_CHANGE",
]);

/** How often a change is planned, each time with fresh names for those that were spent or refused. */
const plansForward = 8;
/** How often a rollback is planned anew, when the cloud changes under it. */
const plansBack = 5;
/** How a way back was tried before. */
interface WayBack {
  readonly plans: number;
  /** What the last try failed with; absent: the change that is taken back is the last one. */
  readonly last?: CapstanError | undefined;
}

/** What counts as the last plan: a cloud on which no host starts is not asked for one host after the other. */
const lastPlan = 1;

/**
 * Rolls an open transaction back to the last revision, or to nothing. Planned anew, as a transaction of
 * its own, when something has to be done that its plan did not show. An adoption is taken back by forgetting
 * its records. Throws NOT_REVERSIBLE beyond a point of no return.
 */
export async function takeBack(
  state: StackState,
  failure: CapstanError,
  options: RunOptions & RequestInfo & Pick<PlanningOptions, "told">,
  { plans, last = failure }: WayBack = { plans: plansBack },
): Promise<ApplyResult> {
  if (isAdopting(state)) return forgetAdoption(state, failure, options);
  const { driftFilter: drift = noFilter } = options;
  const givenUp = givenUpAfter(last, state);
  const { plan: back } = await planBack(state, failure.message, { ...options, drift, givenUp });
  // What was taken back before is looked at again, and what it still owes is done.
  if (isOpen(state)) {
    options.report({
      kind: "rollingBack",
      transaction: state.transaction?.number ?? 0,
      plan: back,
      reason: failure.message,
      failure,
    });
  }
  const result = await new Run(back, state, options).toTheEnd();
  if (result.kind === "stopped") {
    const otherwise =
      result.result === "rollBack"
        ? options
        : servingOtherwise(result.failure, result.state, options);
    if (otherwise !== undefined && plans > lastPlan) {
      return takeBack(result.state, failure, otherwise, { plans: plans - 1 });
    }
    // Others serve in their place, under names that only another plan gives.
    const late = inheritedOnly(givenUpAfter(result.failure, result.state), back);
    if ((result.failure instanceof HostsDead || late !== undefined) && plans > lastPlan) {
      return takeBack(result.state, failure, options, { plans: lastPlan, last: result.failure });
    }
    const stuck = failureOf(back, result);
    return { kind: "stopped", result: "incomplete", failure: stuck, cause: failure };
  }
  return {
    kind: "rolledBack",
    failure,
    number: back.transaction.number,
    to: state.revision === undefined ? "nothing" : "revision",
    onNewHosts: machinesOnNewHosts(state.revision?.target, back.target),
    inventory: expectDefined(result.inventory, "look at the cloud after a rollback"),
  };
}

function machinesOnNewHosts(before: Target | undefined, after: Target): string[] {
  const hosts = new Map(before?.machines.map(({ name, host }) => [name, host]));
  return after.machines
    .filter(({ name, host }) => hosts.get(name) !== host)
    .map(({ name }) => name);
}

/** What planning toward recorded graphs takes. */
export interface PlanningOptions
  extends Pick<RunOptions, "provider" | "clock" | "stop" | "openWorkload">, RequestInfo {
  /** What drift the plan leaves as it is, decided now or as it was decided before; none without. */
  readonly drift?: PlanDriftRules | DriftFilter;
  /** Resources that are given up, beside those that the records name; absent: none. */
  readonly givenUp?: GivenUp | undefined;
  /** Manifests that were named with a verb which leads elsewhere: what holds Machines now, and what becomes of data; absent: none were. */
  readonly told?: Desired | undefined;
  /** As `PlanInput.ledBy`. */
  readonly ledBy?: Desired | undefined;
}

/** A plan toward a recorded graph, what it was made from, and the filter for the run that applies it. */
export interface RecordedPlan {
  readonly plan: Plan;
  readonly observation: Observation;
  readonly driftFilter: DriftFilter;
}

/**
 * The plan that takes an open transaction back: to the last revision's recorded graph, or to nothing. Throws
 * NOT_REVERSIBLE beyond a point of no return.
 */
export async function planBack(
  state: StackState,
  failure: string,
  options: PlanningOptions,
): Promise<RecordedPlan> {
  const { provider } = options;
  const target = targetBack(state);
  const observation = await observeToward(target, state, options);
  refusePassed(passedPoints({ provider, prior: state, ...observation }), state);
  return planToward(target, state, observation, {
    ...options,
    goal: { kind: "takeBack" },
    failure,
  });
}

/** Throws NOT_REVERSIBLE when an open transaction is past its point of no return. */
export function refusePassed(passed: readonly PassedPoint[], { transaction }: PriorState): void {
  const [first] = passed;
  if (first === undefined || transaction === undefined) return;
  const { target, number } = transaction;
  throw new CapstanError({
    code: "NOT_REVERSIBLE",
    source: "user",
    subject: target.cluster,
    message: `cannot take transaction ${number} of ${target.cluster} back: it is past its point of no return: ${passedText(first)}`,
    hint: `nothing was changed; ${onwardText(passed, transaction)}`,
  });
}

/** Where the way back of an open transaction leads: to the last revision, or to nothing. */
export function targetBack({ transaction, revision }: PriorState): Target {
  if (transaction === undefined) throw new Error("nothing was begun, nothing to take back");
  return revision?.target ?? emptied(transaction.target);
}

/** How a graph that was recorded is planned for. */
interface RecordedPlanning extends PlanningOptions, Pick<RemovalDecision, "removal"> {
  readonly goal: TransactionGoal;
  readonly failure?: string;
}

/** A plan toward a graph that was recorded. Looks at the cloud. */
export async function planRecorded(
  target: Target,
  state: StackState,
  options: RecordedPlanning,
): Promise<RecordedPlan> {
  const observation = await observeToward(target, state, options);
  if (options.goal.kind === "rollback") {
    const { provider, clock, stop } = options;
    await refuseWithoutExternals(target, state, { provider, context: callContext(clock, stop) });
  }
  return planToward(target, state, observation, options);
}

/**
 * What the cloud shows of a recorded cluster, and what the cluster says of members that an open upgrade has made. Throws
 * WRONG_CLOUD and UNKNOWN_PRESENCE.
 */
export async function observeToward(
  target: Target,
  records: StackState,
  {
    provider,
    clock,
    stop,
    openWorkload,
  }: Pick<PlanningOptions, "provider" | "clock" | "stop" | "openWorkload">,
): Promise<Observation> {
  const { clusterUid } = transactionIn(records);
  const context = callContext(clock, stop);
  const scope = { cluster: target.cluster, clusterUid };
  const observation = await observe(provider, context, scope, records);
  return withUnjoinedMembers(observation, { provider, records, context, openWorkload });
}

/** The same from an observation that was made already. */
export function planToward(
  target: Target,
  state: StackState,
  observation: Observation,
  options: RecordedPlanning,
): RecordedPlan {
  const { drift = noFilter } = options;
  const request = requestToward(target, state, options);
  if ("leaves" in drift) return { ...planWithDrift(request, observation, drift), observation };
  return { plan: planThrough(drift, request, observation), observation, driftFilter: drift };
}

function requestToward(target: Target, state: StackState, how: RecordedPlanning): PlanRequest {
  const { clusterUid, owner } = transactionIn(state);
  return omitUndefined({
    planGoal: { kind: "recorded", target },
    provider: how.provider,
    prior: state,
    newClusterUid: clusterUid,
    owner,
    nowMs: how.clock.now(),
    by: how.by,
    deadlineMs: how.deadlineMs,
    goal: how.goal,
    failure: how.failure,
    givenUp: how.givenUp,
    removal: how.removal,
    told: how.told,
    ledBy: how.ledBy,
  });
}

function transactionIn({ transaction }: PriorState): TransactionRecord {
  if (transaction === undefined) throw new Error("a stack without a transaction has no past");
  return transaction;
}

/** What the last action failed with, or what the decision to stop says. */
function failureOf(
  { cluster }: Plan,
  { failure, reason }: Extract<RunResult, { kind: "stopped" }>,
): CapstanError {
  if (failure !== undefined) return failure;
  return new CapstanError({
    code: "CLOUD_FAILED",
    source: "cloud",
    subject: cluster,
    message: reason,
  });
}
