import { holdOfDestroy, refuseHeld } from "../../drift/hold.js";
import type { ResourceEvent } from "../../dynamic/resource-event.js";
import { CapstanError } from "../../api/error.js";
import { type LeftoverPolicy, leftoverPolicyOf } from "../../api/leftover-policy.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { stackNameOf } from "../../api/types.js";
import { afterAdoption } from "../../plan/decisions/adoption.js";
import { noDeadlineMs } from "../../plan/deadline.js";
import { makePlan } from "../../plan/planner/make-plan.js";
import { planLeftovers } from "../../plan/leftovers.js";
import type { Plan } from "../../plan/plan.js";
import { refuseDestruction } from "../../plan/refusals/protection.js";
import { wavesOf } from "../../plan/waves/list-waves.js";
import { openImport } from "../../records/imports.js";
import { leftoverScopeOf } from "../../records/leftover-scope.js";
import type { PriorState } from "../../records/prior-state.js";
import { type Target, clusterIn, desiredIn, emptied } from "../../records/target.js";
import { standingOf } from "../../transaction/lifecycle.js";
import { isAdopting } from "./adopt.js";
import { applyPlan, type RequestInfo, type PlanningOptions, planRecorded } from "./apply.js";
import type { ApplyResult } from "./apply-result.js";
import { observe, reading } from "../run/observe.js";
import type { RunOptions } from "../run/run-options.js";
import type { RunEvent } from "../run/run-event.js";
import { callContext } from "../run/handler-session.js";
import { refuseForeign, type StackState } from "../backend/state.js";
import { planAdoption } from "./survey.js";

/** How the destruction of a cluster is planned. */
interface DestroyPlanning extends Omit<PlanningOptions, "deadlineMs"> {
  /** The fingerprint of a look that shows nothing and is true, as a person says. */
  readonly thaw?: string | undefined;
  /** What becomes of what controllers in the cluster have made; what is not said is as the Cluster says. */
  readonly leftovers?: Partial<LeftoverPolicy>;
  /** Names of protected objects whose annotation was taken away since they were recorded. */
  readonly released?: readonly string[];
}

/** What a destroy will do. */
export interface Destruction {
  /** What deletes everything that is recorded, and everything else that is of the cluster. */
  readonly plan: Plan;
  /** The records that the plan is of. */
  readonly records: PriorState;
  /** The rest of an adoption that is open: it is finished before, so that the destroy can be taken back. */
  readonly first?: Plan;
}

/**
 * The plan that deletes everything that a cluster has: workers first, then control plane and infrastructure.
 * Looks at the cloud. Throws PROTECTED, BAD_STATE for a stack that holds anything but a cluster, WRONG_CLOUD,
 * FROZEN for a cloud that may be another one and shows nothing (law 12), and SEVERAL_FOUND.
 */
export async function planDestroy(
  stack: string,
  state: StackState,
  { thaw, released, leftovers, ...planning }: DestroyPlanning,
): Promise<Destruction> {
  const options = { ...planning, deadlineMs: noDeadlineMs };
  refuseForeign(state, stack);
  refuseDestruction([state], released);
  const { transaction } = state;
  if (transaction === undefined) throw new Error("nothing is recorded, nothing to destroy");
  refuseBetweenHands(stack, state);
  const { provider, clock, stop, by, deadlineMs } = options;
  const { target, clusterUid, owner } = transaction;
  const scope = { cluster: target.cluster, clusterUid };
  const observation = await observe(provider, callContext(clock, stop), scope, state);
  refuseHeld(
    target.cluster,
    holdOfDestroy(state, observation, { provider, objects: target.objects, thaw }),
  );
  if (!isAdopting(state)) {
    const plan = await destruction(target, state, options);
    return { plan: await withLeftovers(plan, state, options, leftovers), records: state };
  }
  const request = { provider, nowMs: clock.now(), owner, by, deadlineMs, removal: {} };
  const { plan: first, found } = planAdoption(desiredIn(target), {
    state,
    observation,
    request: { ...request, newClusterUid: clusterUid },
  });
  const after = afterAdoption(first, found);
  const plan = makePlan({
    told: options.told,
    planGoal: { kind: "recorded", target: emptied(first.target) },
    goal: { kind: "destroy" },
    ...request,
    newClusterUid: clusterUid,
    ...after,
    unrecorded: [],
  });
  return { plan, records: after.prior, first };
}

/** The plan with what controllers in the cluster have made, each with what becomes of it. */
async function withLeftovers(
  plan: Plan,
  state: StackState,
  { provider, clock, stop }: PlanningOptions,
  asked: Partial<LeftoverPolicy> = {},
): Promise<Plan> {
  if (provider.leftovers === undefined) return plan;
  const context = callContext(clock, stop);
  const scope = leftoverScopeOf(state);
  const found = await reading(context, async () => provider.leftovers?.(context, scope));
  if (found === undefined || found.length === 0) return plan;
  const written = leftoverPolicyOf(clusterIn(plan.target).metadata.annotations);
  const policy = { ...written, ...omitUndefined(asked) };
  const planned = { ...plan, leftovers: planLeftovers(found, policy) };
  return { ...planned, waves: wavesOf(planned) };
}

async function destruction(
  target: Target,
  state: StackState,
  options: PlanningOptions,
): Promise<Plan> {
  const { transaction, revision } = state;
  // One that was begun wants nothing: what it takes down was wanted before.
  const isBegun = transaction?.goal.kind === "destroy";
  const ledBy = desiredIn((isBegun ? revision?.target : undefined) ?? target);
  const how = { ...options, ledBy, goal: { kind: "destroy" } } as const;
  return (await planRecorded(emptied(target), state, how)).plan;
}

/** What became of a destroy, with what two looks at the cloud say when nothing is recorded any more. */
export type Destroyed = ApplyResult & { readonly deleted: number };

/**
 * Carries out what `planDestroy` has planned, as a transaction: recorded at its begin, taken back only when
 * somebody asks for that, its records kept until two listings show that nothing is left. Throws what
 * `applyPlan` throws.
 */
export async function destroyCluster(
  { plan, first }: Destruction,
  state: StackState,
  options: RunOptions & Omit<RequestInfo, "deadlineMs">,
): Promise<Destroyed> {
  let deleted = 0;
  const report = (event: RunEvent) => {
    const isGone = event.kind === "resource" && isDeletion(event.event);
    if (isGone || event.kind === "leftover") deleted += 1;
    options.report(event);
  };
  const how = { ...options, deadlineMs: noDeadlineMs, onFailure: "keep", report } as const;
  if (first === undefined) return { ...(await applyPlan(plan, state, how)), deleted };
  const adopted = await applyPlan(first, state, how);
  if (adopted.kind !== "done") return { ...adopted, deleted };
  const records = await options.engine.readState(stackNameOf(clusterIn(first.target)));
  const now = await destruction(first.target, records, how);
  return { ...(await applyPlan(now, records, how)), deleted };
}

function isDeletion({ operation, state }: ResourceEvent): boolean {
  return operation === "delete" && state === "done";
}

/** What is to stay must not be deleted: that is decided before anything else goes. Throws TRANSACTION_OPEN. */
function refuseBetweenHands(stack: string, state: StackState): void {
  const unfinished = hostBetweenHands(stack, state);
  if (unfinished === undefined) return;
  const { cause, goOn } = unfinished;
  throw new CapstanError({
    code: "TRANSACTION_OPEN",
    source: "user",
    subject: stack,
    message: `cannot destroy ${stack}: ${cause}`,
    hint: `finish that with ${goOn}, or take it back with capstan rollback ${stack}; nothing was changed`,
  });
}

/** A host that is going out of our hands, or coming into them, and the words that finish it. */
function hostBetweenHands(stack: string, state: StackState) {
  const goal = state.transaction?.goal;
  if (goal?.kind === "forget" && standingOf(state) !== "idle") {
    return {
      cause: `Machine ${goal.machine} is being let go, and its host may not be deleted`,
      goOn: `capstan state forget ${stack} Machine/${goal.machine}`,
    };
  }
  const imported = openImport(state);
  return (
    imported && {
      cause: `the host of Machine ${imported.machine} is being imported, and is not ours to delete until that is done`,
      goOn: `capstan import ${stack} Machine/${imported.machine} ${imported.id}`,
    }
  );
}
