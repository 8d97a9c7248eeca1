import { CapstanError } from "../../api/error.js";
import { severalFound } from "../../dynamic/resource-refusals.js";
import { keyOf, type NodeKey } from "../../graph/graph.js";
import type { OrphanedResource } from "../../plan/plan.js";
import type { PendingOperation } from "../../records/prior-state.js";
import type { CallContext, Identity, InfrastructureProvider } from "../../provider/port.js";
import { transactionKey } from "../../transaction/pass.js";
import { timingOf } from "../../provider/timing.js";
import type { StackEngine } from "../pulumi/engine.js";
import type { HandlerSession } from "../pulumi/engine-options.js";
import { engineFailed } from "../pulumi/engine-refusals.js";
import { provenCloud, reading } from "./observe.js";
import { deathNoticeMs } from "../locks/process-identity.js";
import type { Recovery } from "./recovery-progress.js";
import type { StackState } from "../backend/state.js";

export interface RecoveryTools {
  readonly engine: StackEngine;
  readonly provider: InfrastructureProvider;
  readonly context: CallContext;
  readonly session: () => HandlerSession;
}

/** Carries out what was decided about a dead command's leavings. Returns the state after it. */
export async function recover(
  recovery: Recovery,
  stack: string,
  state: StackState,
  tools: RecoveryTools,
): Promise<StackState> {
  switch (recovery.kind) {
    case "settle":
      await settleLastCalls(tools.engine, tools.provider, tools.context);
      return tools.engine.readState(stack);
    case "refresh":
      return refreshRecords(stack, state, recovery.keys, tools);
    case "forget":
      return forgetInterrupted(stack, state, tools);
    case "remove":
      await removeOrphaned(recovery.resources, tools);
      return state;
    case "resolve":
      return resolvePendingCreates(stack, state, tools);
  }
}

/**
 * Throws SEVERAL_FOUND for two of one identity: no apply of ours makes a second one, and no record tells which of them is
 * the copy. What bears one name under two tokens was made for two identities.
 */
export function refuseTwins(resources: readonly OrphanedResource[]): void {
  const twins = new Map<string, OrphanedResource[]>();
  for (const resource of resources) {
    const identity = `${keyOf(resource.who)} ${resource.who.token}`;
    twins.set(identity, [...(twins.get(identity) ?? []), resource]);
  }
  for (const alike of twins.values()) {
    const [one] = alike;
    if (one === undefined || alike.length === 1) continue;
    const ids = alike.map(({ id }) => id);
    throw severalFound(`the ${keyOf(one.who)} that a command has left`, ids);
  }
}

/**
 * Newest first, as nothing of it is in the engine's record, which would know the order. What is let go comes after all that is deleted,
 * and a host before what lives with it: that would be nobody's, should the host stay after all.
 */
async function removeOrphaned(
  resources: readonly OrphanedResource[],
  { session, context }: RecoveryTools,
): Promise<void> {
  const { lookup } = session();
  const letGo = resources.filter((one) => one.letGo === true);
  const deleted = resources.filter((one) => one.letGo !== true);
  for (const { id, who } of [...deleted.toReversed(), ...letGo]) {
    context.signal.throwIfAborted();
    await lookup(who.kind).delete(id, { who });
  }
}

/**
 * Lets every call that a dead command made come to its end, and listings show what it did, if its lock
 * was taken over: what is planned from then on is planned from what those calls have done.
 */
export async function settleLastCalls(
  engine: Pick<StackEngine, "unsettled">,
  provider: InfrastructureProvider,
  { clock, signal }: Pick<CallContext, "clock" | "signal">,
): Promise<void> {
  if (!engine.unsettled) return;
  const { longestCallMs, listingLagMs } = timingOf(provider);
  await clock.sleep(deathNoticeMs + longestCallMs + listingLagMs, signal);
  engine.unsettled = false;
}

/** Creations that an engine was killed in: the cloud may or may not have carried them out. */
export function pendingCreates(state: StackState): PendingOperation[] {
  return state.pending.filter(({ type }) => type === "creating");
}

/**
 * Resolves the creations that a dead engine left: one that is recorded by now was adopted; any
 * other is looked for and removed. Then, and not before, their entries are cleared. Architecture rule 5.4
 * and section 6. Returns the state after it. Throws UNKNOWN_PRESENCE when the cloud cannot say.
 */
async function resolvePendingCreates(
  stack: string,
  state: StackState,
  tools: RecoveryTools,
): Promise<StackState> {
  const creates = pendingCreates(state);
  if (creates.length === 0) return state;
  const { provider, context } = tools;
  await provenCloud(provider, context, stack, state.transaction?.cloud);
  const recorded = new Set<NodeKey>(state.resources.map(({ key }) => key));
  const open = creates.filter(({ key }) => !recorded.has(key));
  // Twice: what no listing shows yet may still be there.
  const hidden = await removeUnrecorded(open, tools);
  if (hidden.length > 0) {
    await tools.context.clock.sleep(timingOf(provider).listingLagMs, tools.context.signal);
    await removeUnrecorded(hidden, tools);
  }
  return clearPendingCreates(stack, state, tools);
}

/** Clears the entries of interrupted creations, whatever became of what they are about. Returns the state after it. */
export async function clearPendingCreates(
  stack: string,
  state: StackState,
  { engine, session }: Pick<RecoveryTools, "engine" | "session">,
): Promise<StackState> {
  const result = await engine.refresh(stack, leastToRead(state), session(), "clearPendingCreates");
  if (result.code !== 0) throw engineFailed(`cannot clear pending creations of ${stack}`, result);
  return engine.readState(stack);
}

/** The one resource that is read without a cloud; a stack without it is read as a whole. */
function leastToRead({ resources }: StackState): string[] {
  return resources.filter(({ key }) => key === transactionKey).map(({ urn }) => urn);
}

/**
 * Clears what a dead engine left of imports, reads, and changes of what is recorded no more. Whenever
 * Pulumi writes a state it keeps the entries of creations only (architecture section 9). Throws BAD_STATE
 * naming the entries that are still there then.
 */
async function forgetInterrupted(
  stack: string,
  state: StackState,
  { engine, session }: RecoveryTools,
): Promise<StackState> {
  const result = await engine.refresh(stack, leastToRead(state), session());
  if (result.code !== 0) throw engineFailed(`cannot clear what is pending in ${stack}`, result);
  const after = await engine.readState(stack);
  const left = after.pending.filter(({ type }) => type !== "creating");
  if (left.length === 0) return after;
  throw new CapstanError({
    code: "BAD_STATE",
    source: "engine",
    subject: stack,
    message: `cannot clear what is pending in ${stack}: ${left.map(({ type, urn }) => `${type} ${urn}`).join(", ")}`,
    hint: `clear it with the release of Pulumi that left it: pulumi refresh --stack ${stack}`,
  });
}

/** Reads resources again whose update or deletion a dead engine left unfinished, and stale ones. */
async function refreshRecords(
  stack: string,
  state: StackState,
  stale: readonly NodeKey[],
  tools: RecoveryTools,
): Promise<StackState> {
  const interrupted = state.pending.filter(({ type }) => type !== "creating");
  const keys = new Set([...stale, ...interrupted.map(({ key }) => key)]);
  const urns = state.resources.filter(({ key }) => keys.has(key)).map(({ urn }) => urn);
  if (urns.length === 0) return state;
  const result = await tools.engine.refresh(stack, urns, tools.session());
  if (result.code !== 0) throw engineFailed(`cannot read resources of ${stack} again`, result);
  return tools.engine.readState(stack);
}

/** Removes what interrupted creations made. Answers those of which nothing was found. */
export async function removeUnrecorded(
  creates: readonly PendingOperation[],
  tools: RecoveryTools,
): Promise<PendingOperation[]> {
  const hidden: PendingOperation[] = [];
  for (const create of creates) {
    tools.context.signal.throwIfAborted();
    if (!(await removeOne(create, tools))) hidden.push(create);
  }
  return hidden;
}

/** Whether it is dealt with: removed, or of a kind that has no life in a cloud. */
async function removeOne(
  { kind, key, inputs }: PendingOperation,
  { provider, context, session }: RecoveryTools,
): Promise<boolean> {
  const handler = provider.handlers.get(kind);
  const who = inputs["who"] as Identity | undefined;
  if (handler === undefined || who === undefined) return true;
  const presence = await reading(context, () => handler.locate(context, who));
  if (presence.found === "none") return false;
  if (presence.found === "one") {
    await session().lookup(kind).delete(presence.resource.id, inputs);
    return true;
  }
  if (presence.found === "many")
    throw severalFound(`the ${key} that a command has left`, presence.ids);
  throw new CapstanError({
    code: "UNKNOWN_PRESENCE",
    source: "cloud",
    subject: who.name,
    message: `cannot resolve the interrupted creation of ${key}: ${presence.reason}`,
    hint: "run the same command again when the cloud answers",
    retryable: true,
  });
}
