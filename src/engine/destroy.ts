import { holdOfDestroy, refuseHeld } from "../drift/hold.js";
import type { ResourceEvent } from "../dynamic/cloud-resource.js";
import { stackNameOf } from "../api/types.js";
import type { Plan } from "../plan/plan.js";
import { refuseDestruction } from "../plan/protection.js";
import type { Target } from "../plan/target.js";
import { clusterIn, desiredIn, emptied } from "../plan/wanted.js";
import { isAdopting } from "./adopt.js";
import {
  applyPlan,
  type ApplyResult,
  type Occasion,
  type PlanningOptions,
  planRecorded,
} from "./apply.js";
import { look } from "./look.js";
import type { RunEvent, RunOptions } from "./run.js";
import { callContext } from "./session.js";
import { refuseForeign, type StackState } from "./state.js";
import { planAdoption } from "./survey.js";

/** How the destruction of a cluster is planned. */
export interface DestroyPlanning extends PlanningOptions {
  /** The fingerprint of a look that shows nothing and is true, as a person says. */
  readonly thaw?: string | undefined;
  /** Names of protected objects whose annotation was taken away since they were recorded. */
  readonly released?: readonly string[];
}

/**
 * The plan that deletes everything that a cluster has: workers first, then control plane and infrastructure.
 * Looks at the cloud. Throws PROTECTED, BAD_STATE for a stack that holds anything but a cluster, WRONG_CLOUD, and FROZEN for a cloud that may
 * be another one and shows nothing (law 12).
 */
export async function planDestroy(
  stack: string,
  state: StackState,
  { thaw, released, ...options }: DestroyPlanning,
): Promise<Plan> {
  refuseForeign(state, stack);
  refuseDestruction([state], released);
  const { transaction } = state;
  if (transaction === undefined) throw new Error("nothing is recorded, nothing to destroy");
  const { provider, clock, stop } = options;
  const { target, clusterUid } = transaction;
  const scope = { cluster: target.cluster, clusterUid };
  const seen = await look(provider, callContext(clock, stop), scope, state);
  refuseHeld(
    target.cluster,
    holdOfDestroy(state, seen, { provider, objects: target.objects, thaw }),
  );
  return destruction(target, state, options);
}

function destruction(target: Target, state: StackState, options: PlanningOptions): Promise<Plan> {
  return planRecorded(emptied(target), state, { ...options, goal: { kind: "destroy" } });
}

/** What became of a destroy, with what two looks at the cloud say when nothing is recorded any more. */
export type Destroyed = ApplyResult & { readonly deleted: number };

/**
 * Carries out what `planDestroy` has planned, as a transaction: recorded at its begin, taken back only when
 * somebody asks for that, its records kept until two listings show that nothing is left. An adoption that is
 * open is finished first: a destroy without a revision could only be taken back to nothing. Throws what
 * `applyPlan` throws.
 */
export async function destroyCluster(
  plan: Plan,
  state: StackState,
  options: RunOptions & Occasion,
): Promise<Destroyed> {
  let deleted = 0;
  const report = (event: RunEvent) => {
    if (event.kind === "resource" && isDeletion(event.event)) deleted += 1;
    options.report(event);
  };
  const how = { ...options, onFailure: "keep", report } as const;
  const before = isAdopting(state) ? await finishAdoption(state, how) : { plan, state };
  const result = "kind" in before ? before : await applyPlan(before.plan, before.state, how);
  return { ...result, deleted };
}

/** What is to be destroyed once everything that was found has its record; what went wrong when it has not. */
async function finishAdoption(
  state: StackState,
  options: RunOptions & Occasion,
): Promise<ApplyResult | { readonly plan: Plan; readonly state: StackState }> {
  const { engine, provider, clock, stop, by, deadlineMs } = options;
  const { transaction } = state;
  if (transaction === undefined) throw new Error("nothing is being adopted");
  const { target, clusterUid, owner } = transaction;
  const scope = { cluster: target.cluster, clusterUid };
  const seen = await look(provider, callContext(clock, stop), scope, state);
  const occasion = {
    ...{ provider, nowMs: clock.now(), owner, by, deadlineMs, newClusterUid: clusterUid },
    removal: {},
  };
  const { plan } = planAdoption(desiredIn(target), { state, seen, occasion });
  const adopted = await applyPlan(plan, state, options);
  if (adopted.kind !== "done") return adopted;
  const records = await engine.readState(stackNameOf(clusterIn(target)));
  return { plan: await destruction(plan.target, records, options), state: records };
}

function isDeletion({ operation, state }: ResourceEvent): boolean {
  return operation === "delete" && state === "done";
}
