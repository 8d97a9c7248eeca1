import type { CapstanError } from "../../api/error.js";
import { stackNameOf } from "../../api/types.js";
import { emptyState, openRecordsRequest, type PriorState } from "../../records/prior-state.js";
import { clusterIn } from "../../records/target.js";
import type { ApplyResult } from "./apply-result.js";
import { engineFailed } from "../pulumi/engine-refusals.js";
import { clearPendingCreates, pendingCreates, settleLastCalls } from "../run/recover.js";
import type { RunOptions } from "../run/run-options.js";
import { callContext, stepwiseSession } from "../run/handler-session.js";
import type { StackState } from "../backend/state.js";
import { observe } from "../run/observe.js";

/** Whether an adoption was begun and is not committed: what it found is there without it. */
export function isAdopting(state: PriorState): boolean {
  return openRecordsRequest(state)?.kind === "adopt";
}

/**
 * Takes an open adoption back: its records are forgotten, Transaction last, and nothing in the cloud is
 * touched. Killed half way it still is the open adoption that it was, with fewer records, so that it can
 * be gone on with either way. Throws ENGINE_FAILED and what a look at the cloud fails with.
 */
export async function forgetAdoption(
  state: StackState,
  failure: CapstanError,
  options: RunOptions,
): Promise<ApplyResult> {
  const { engine, provider, clock, stop, timeoutMs } = options;
  const { transaction } = state;
  if (transaction === undefined) throw new Error("nothing was begun, nothing to take back");
  const { target, clusterUid, number } = transaction;
  const context = callContext(clock, stop);
  await settleLastCalls(engine, provider, context);
  const stack = stackNameOf(clusterIn(target));
  const session = () =>
    stepwiseSession({
      provider,
      clock,
      timeoutMs,
      recordsOnly: true,
      assertEngineAlive: () => engine.assertAlive(),
      report: (event) => options.report({ kind: "resource", event }),
    });
  // What an engine was killed at giving a record is there all the same.
  if (pendingCreates(state).length > 0)
    await clearPendingCreates(stack, state, { engine, session });
  const result = await engine.destroy(stack, session());
  stop.throwIfAborted();
  if (result.code !== 0) throw engineFailed(`cannot forget the records of ${stack}`, result);
  await engine.removeEmptyStack(stack);
  const scope = { cluster: target.cluster, clusterUid };
  const { unrecorded } = await observe(provider, context, scope, emptyState);
  const alive = unrecorded.filter(({ phase }) => phase !== "gone").length;
  const inventory = { recorded: 0, alive, settledMs: 0, differences: [] };
  return { kind: "rolledBack", failure, number, to: "unrecorded", onNewHosts: [], inventory };
}
