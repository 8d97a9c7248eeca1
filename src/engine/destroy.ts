import { holdOfDestroy, refuseHeld } from "../drift/hold.js";
import type { ResourceEvent } from "../dynamic/cloud-resource.js";
import type { Plan } from "../plan/plan.js";
import { refuseDestruction } from "../plan/protection.js";
import { emptied } from "../plan/wanted.js";
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
  return planRecorded(emptied(transaction.target), state, {
    ...options,
    goal: { kind: "destroy" },
  });
}

/** What became of a destroy, with what two looks at the cloud say when nothing is recorded any more. */
export type Destroyed = ApplyResult & { readonly deleted: number };

/**
 * Carries out what `planDestroy` has planned, as a transaction: recorded at its begin, taken back only when
 * somebody asks for that, its records kept until two listings show that nothing is left. Throws what
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
  const result = await applyPlan(plan, state, { ...options, onFailure: "keep", report });
  return { ...result, deleted };
}

function isDeletion({ operation, state }: ResourceEvent): boolean {
  return operation === "delete" && state === "done";
}
