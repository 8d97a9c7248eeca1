import { CapstanError } from "../api/error.js";
import { StackLock } from "../engine/locks/lock.js";
import { isOwnUrn, refuseNonOwner, type StackState } from "../engine/backend/state.js";
import { isKept } from "../dynamic/protocol.js";
import type { NodeKey } from "../graph/graph.js";
import { fileOwner } from "../records/hand-over.js";
import { recordAt } from "../records/prior-state.js";
import type { Plan } from "../plan/plan.js";
import { isLettingGo } from "../plan/step.js";
import type { ObservedResources } from "../plan/observation.js";
import { takenBackLike } from "../records/taken-back.js";
import { type ProgramStack, type WaysOn, waysOn } from "./ways-on.js";

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

/** What is about to be done in one pass. */
export interface InlineChange {
  readonly plan: Plan;
  readonly state: StackState;
  readonly observedResources: ObservedResources;
  readonly place: Omit<ProgramStack, "isShared">;
}

/**
 * What a plain `pulumi up` must not do, before anything is registered (architecture section 4).
 * Throws TRANSACTION_OPEN or NOT_OWNER with the command that can, in words that reach this stack. Pure.
 */
export function refuseInline({ plan, state, observedResources, place }: InlineChange): void {
  const ways = waysOn({ ...place, isShared: state.foreign.length > 0 });
  const { transaction } = state;
  if (transaction !== undefined && transaction.target.cluster !== plan.cluster) {
    throw open(
      plan,
      `this stack holds ${transaction.target.cluster}`,
      "give each cluster a stack of its own",
    );
  }
  refuseNonOwner(state, fileOwner, "change");
  refuseUnderWay(plan, state, ways);
  refuseTakenBack(plan, state, ways);
  refuseLeftovers(plan, state, ways);
  refuseStale(plan, state, observedResources);
  refuseMembers(plan, state, ways);
  refuseLeaving(plan, ways);
  refuseForgetting(plan, state, ways);
}

/**
 * One pass goes on with what one pass has begun, with the same objects or others: it registers all that is
 * wanted and deletes the rest. What goes in steps, back or down is left to who does that.
 */
function refuseUnderWay(plan: Plan, { transaction }: StackState, ways: WaysOn): void {
  if (plan.open === undefined || transaction === undefined) return;
  const { number, direction, inline } = transaction;
  if (inline === true && direction === "forward") return;
  const cause = `transaction ${number} is not finished`;
  const back = `${ways.takeBack} goes on with it`;
  if (direction === "back") throw open(plan, `${cause}: it takes another one back`, back);
  throw open(plan, cause, `${ways.up} to go on with it, or ${ways.takeBack} to take it back`);
}

/** What was taken back does not come to life again because nobody changed the manifests. */
function refuseTakenBack(plan: Plan, { revision }: StackState, ways: WaysOn): void {
  if (plan.open !== undefined) return;
  const taken = takenBackLike(plan.target, revision);
  if (taken === undefined) return;
  const { number, why } = taken;
  throw open(
    plan,
    `transaction ${number} wanted these objects and was taken back: ${why}`,
    `change the manifests; or, to apply them again on purpose, ${ways.up}`,
  );
}

/** What a killed engine, or an apply that broke off, has left. */
function refuseLeftovers(plan: Plan, state: StackState, ways: WaysOn): void {
  // What else the running engine is making is no cluster's.
  const pending = state.pending.filter(({ urn }) => isOwnUrn(urn));
  if (pending.length > 0) {
    const what = pending.map(({ type, key }) => `${type} ${key}`).join(", ");
    throw open(plan, `an engine was killed in the middle of ${what}`, ways.recover);
  }
  const owed = state.resources.filter(({ deleting }) => deleting).map(({ key }) => key);
  if (owed.length > 0) throw open(plan, `the deletion of ${owed.join(", ")} is owed`, ways.up);
  const [left] = plan.orphaned;
  if (left === undefined) return;
  const what = `${left.who.kind} ${left.who.name} (${left.id})`;
  throw open(plan, `an apply that broke off left ${what}`, ways.up);
}

function refuseStale(plan: Plan, state: StackState, observedResources: ObservedResources): void {
  const stale = plan.stale.filter((key) => !canFinish(key, plan, { state, observedResources }));
  if (stale.length === 0) return;
  throw open(plan, `the record of ${stale.join(", ")} is out of date`, "run pulumi refresh first");
}

/** Pulumi updates what it records as unfinished, which finishes it; only what is gone cannot follow. */
function canFinish(
  key: NodeKey,
  { open }: Plan,
  { state, observedResources }: Pick<InlineChange, "state" | "observedResources">,
): boolean {
  const isUnfinished = state.resources.some((one) => one.key === key && one.unfinished);
  const observed = observedResources.get(key);
  return open !== undefined && isUnfinished && observed !== undefined && observed !== "gone";
}

function refuseMembers(plan: Plan, { revision }: StackState, ways: WaysOn): void {
  // One whose record a refresh has dropped still counts among the others.
  const known = new Set(revision?.target.machines.map(({ name }) => name));
  const isBack = (machine: string) => plan.oneBegins && known.has(machine);
  const members = plan.machines.filter(
    ({ controlPlane, kind, machine }) =>
      controlPlane && (kind === "replace" || (kind === "create" && isBack(machine))),
  );
  if (members.length > 0) {
    const names = members.map(({ machine }) => machine).join(", ");
    throw open(plan, `control-plane machine ${names} has to be replaced step by step`, ways.up);
  }
  const together = changedMembers(plan);
  if (together.length === 0) return;
  const names = together.join(", ");
  throw open(plan, `control-plane machines ${names} change one at a time`, ways.up);
}

/** In one go they would all be changed at once, and etcd would lose its majority. */
function changedMembers({ machines }: Plan): string[] {
  const changed = machines.filter(({ controlPlane, kind }) => controlPlane && kind === "update");
  return changed.length > 1 ? changed.map(({ machine }) => machine) : [];
}

/** Pulumi deletes once the program has ended, which alone can ask etcd to do without a member. */
function refuseLeaving({ oneBegins, machines, ...plan }: Plan, ways: WaysOn): void {
  const members = machines.filter(({ controlPlane }) => controlPlane);
  const leaving = members.filter(({ kind }) => kind === "delete");
  if (!oneBegins || leaving.length === 0 || leaving.length === members.length) return;
  const names = leaving.map(({ machine }) => machine).join(", ");
  throw open(plan, `control-plane machine ${names} has to leave etcd before it goes`, ways.up);
}

/** Pulumi deletes what a program does not register any more, but for what is recorded to outlive its host. */
function refuseForgetting(plan: Plan, { resources }: StackState, ways: WaysOn): void {
  const outlives = (key: NodeKey) => isKept(recordAt(resources, key)?.inputs ?? {});
  const keys = plan.steps.filter(isLettingGo).map(({ key }) => key);
  const others = keys.filter((key) => !outlives(key));
  if (others.length === 0) return;
  throw open(plan, `it would delete ${others.join(", ")}, which is to be forgotten`, ways.up);
}

function open(plan: Pick<Plan, "stack" | "cluster">, cause: string, hint: string): CapstanError {
  return new CapstanError({
    code: "TRANSACTION_OPEN",
    source: "user",
    subject: plan.stack,
    message: `cannot change ${plan.cluster} with a plain pulumi: ${cause}`,
    hint,
  });
}
