import { CapstanError } from "../../api/error.js";
import { defaultDeadlineMs } from "../../plan/deadline.js";
import { isHandOver, type HandOver } from "../../records/hand-over.js";
import { isRecordKind } from "../../records/prior-state.js";
import type { Clock, InfrastructureProvider } from "../../provider/port.js";
import { standingOf } from "../../transaction/lifecycle.js";
import { applyPlan, observeToward } from "./apply.js";
import { planRecordsOnly } from "./records-only.js";
import type { StackEngine } from "../pulumi/engine.js";
import type { StackState } from "../backend/state.js";

interface HandOverOptions {
  readonly engine: StackEngine;
  readonly provider: InfrastructureProvider;
  readonly clock: Clock;
  /** "<user>@<host>". */
  readonly by: string;
  readonly stop: AbortSignal;
  /** Brings the cluster's objects where the new owner has them: nobody owns the stack meanwhile. It may happen again. */
  readonly whileOpen: () => Promise<void>;
}

/**
 * Whether nothing is under way but, at most, a change of owner that broke off. An entry that its interrupted begin has
 * left is nothing: any pass clears it. Pure.
 */
export function canHandOver(state: StackState): boolean {
  const { transaction } = state;
  const pending = state.pending.filter(({ kind }) => !isRecordKind(kind));
  const standing = standingOf({ ...state, pending });
  return (
    standing === "idle" ||
    (standing === "forward" && transaction !== undefined && isHandOver(transaction))
  );
}

/** Throws TRANSACTION_OPEN unless `canHandOver`. */
export function refuseUnfinished(stack: string, state: StackState): void {
  if (canHandOver(state)) return;
  const number = state.transaction?.number ?? 0;
  const isCleanupPending = standingOf(state) === "owing";
  throw new CapstanError({
    code: "TRANSACTION_OPEN",
    source: "user",
    subject: stack,
    message: `cannot move ${stack}: ${isCleanupPending ? `what transaction ${number} supersedes is not all deleted` : `transaction ${number} is not finished`}`,
    hint: "its owner finishes it, or takes it back with capstan rollback; nothing was changed",
  });
}

/**
 * Makes somebody else the owner of a stack, by a transaction that changes nothing else: toward what the
 * last revision holds, with the cloud as it is recorded, whatever it looks like now. The objects come or go between
 * its begin and its commit, so that records tell of them for as long as there are any. Idempotent: one that
 * broke off goes on. Returns the number of that transaction. Throws TRANSACTION_OPEN, and what kept the
 * records from being written or the objects from coming or going; it stays open then, and is nobody's.
 */
export async function handOver(
  stack: string,
  state: StackState,
  { to, from }: Required<HandOver>,
  { whileOpen, ...options }: HandOverOptions,
): Promise<number> {
  refuseUnfinished(stack, state);
  const { revision } = state;
  if (revision === undefined) throw new Error("idle is not absent");
  const { target } = revision;
  const request = { ...options, deadlineMs: defaultDeadlineMs };
  const observation = await observeToward(target, state, request);
  const goal = { kind: "move", to, from } as const;
  const { plan, driftFilter } = planRecordsOnly({ target, goal, observation }, state, request);
  const result = await applyPlan(plan, state, {
    ...request,
    driftFilter,
    onFailure: "keep",
    timeoutMs: defaultDeadlineMs,
    report: () => {},
    beforeCommit: whileOpen,
  });
  if (result.kind === "done") return plan.transaction.number;
  throw result.failure;
}
