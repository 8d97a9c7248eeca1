import { CapstanError } from "../api/error.js";
import { StackLock } from "../engine/lock.js";
import { refuseNonOwner, type StackState } from "../engine/state.js";
import { fileOwner } from "../plan/hand-over.js";
import type { Plan } from "../plan/plan.js";

/**
 * Throws LOCKED while a command of ours works on the stack: between two of its passes Pulumi's own lock is
 * nobody's. Asked before anything else, since the lock that this program runs under holds that command up.
 */
export function refuseWhileLocked(stateDir: string, stack: string): void {
  const holder = StackLock.holderOf(stateDir, stack);
  if (holder === undefined) return;
  throw new CapstanError({
    code: "LOCKED",
    source: "user",
    subject: stack,
    message: `cannot change ${stack} with a plain pulumi: ${holder}`,
    hint: "wait until that command has ended; nothing was registered",
    retryable: true,
  });
}

/**
 * What a plain `pulumi up` must not do, before anything is registered (architecture section 4).
 * Throws with the command that can. Pure.
 */
export function refuseInline(plan: Plan, state: StackState, stale: readonly string[]): void {
  const command = "capstan up with the same manifests";
  const { transaction } = state;
  if (transaction !== undefined && transaction.target.cluster !== plan.cluster) {
    throw open(
      plan,
      `this stack holds ${transaction.target.cluster}`,
      "give each cluster a stack of its own",
    );
  }
  refuseNonOwner(state, fileOwner, "change");
  if (plan.resumes) {
    const hint = `run ${command} to go on with it, or capstan rollback ${plan.stack} to take it back`;
    throw open(plan, `transaction ${transaction?.number ?? 0} is not finished`, hint);
  }
  if (state.pending.length > 0) {
    const what = state.pending.map(({ type, key }) => `${type} ${key}`).join(", ");
    throw open(plan, `an engine was killed in the middle of ${what}`, `run ${command}`);
  }
  const owed = state.resources.filter(({ deleting }) => deleting).map(({ key }) => key);
  if (owed.length > 0) {
    throw open(plan, `the deletion of ${owed.join(", ")} is owed`, `run ${command}`);
  }
  if (stale.length > 0) {
    throw open(
      plan,
      `the record of ${stale.join(", ")} is out of date`,
      "run pulumi refresh first",
    );
  }
  const [left] = plan.abandoned;
  if (left !== undefined) {
    const what = `${left.who.kind} ${left.who.name} (${left.id})`;
    throw open(plan, `an apply that broke off left ${what}`, `run ${command}`);
  }
  const members = plan.machines.filter(
    ({ controlPlane, kind }) => controlPlane && kind === "replace",
  );
  if (members.length > 0) {
    const names = members.map(({ machine }) => machine).join(", ");
    throw open(
      plan,
      `control-plane machine ${names} has to be replaced step by step`,
      `run ${command}`,
    );
  }
  const together = changedMembers(plan);
  if (together.length > 0) {
    const names = together.join(", ");
    throw open(plan, `control-plane machines ${names} change one at a time`, `run ${command}`);
  }
}

/** In one go they would all be changed at once, and etcd would lose its majority. */
function changedMembers({ machines }: Plan): string[] {
  const changed = machines.filter(({ controlPlane, kind }) => controlPlane && kind === "update");
  return changed.length > 1 ? changed.map(({ machine }) => machine) : [];
}

function open(plan: Plan, cause: string, hint: string): CapstanError {
  return new CapstanError({
    code: "TRANSACTION_OPEN",
    source: "user",
    subject: plan.stack,
    message: `cannot change ${plan.cluster} with a plain pulumi: ${cause}`,
    hint,
  });
}
