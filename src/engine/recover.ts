import { CapstanError } from "../api/error.js";
import type { NodeKey } from "../graph/graph.js";
import type { PendingOperation } from "../plan/target.js";
import type { CallContext, Identity, InfrastructureProvider } from "../provider/port.js";
import { transactionKey } from "../transaction/pass.js";
import { timingOf } from "../provider/timing.js";
import { engineFailed, type HandlerSession, type StackEngine } from "./engine.js";
import { reading } from "./look.js";
import { deathNoticeMs } from "./process-identity.js";
import type { StackState } from "./state.js";

export interface RecoveryTools {
  readonly engine: StackEngine;
  readonly provider: InfrastructureProvider;
  readonly context: CallContext;
  readonly session: () => HandlerSession;
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
 * other is looked for and removed. Then, and not before, their entries are cleared. Architecture 5.4
 * and section 6. Returns the state after it. Throws UNKNOWN_PRESENCE when the cloud cannot say.
 */
export async function resolvePendingCreates(
  stack: string,
  state: StackState,
  tools: RecoveryTools,
): Promise<StackState> {
  const creates = pendingCreates(state);
  if (creates.length === 0) return state;
  const { engine, provider } = tools;
  const recorded = new Set<NodeKey>(state.resources.map(({ key }) => key));
  const open = creates.filter(({ key }) => !recorded.has(key));
  // Twice: what no listing shows yet may still be there.
  const hidden = await removeUnrecorded(open, tools);
  if (hidden.length > 0) {
    await tools.context.clock.sleep(timingOf(provider).listingLagMs, tools.context.signal);
    await removeUnrecorded(hidden, tools);
  }
  const transaction = state.resources.find(({ key }) => key === transactionKey);
  const urns = transaction === undefined ? [] : [transaction.urn];
  const result = await engine.refresh(stack, urns, tools.session(), "clearPendingCreates");
  if (result.code !== 0) throw engineFailed(`cannot clear pending creations of ${stack}`, result);
  return engine.readState(stack);
}

/** Reads resources again whose update or deletion a dead engine left unfinished, and stale ones. */
export async function refreshRecords(
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
async function removeUnrecorded(
  creates: readonly PendingOperation[],
  tools: RecoveryTools,
): Promise<PendingOperation[]> {
  const hidden: PendingOperation[] = [];
  for (const create of creates) {
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
  throw new CapstanError({
    code: "UNKNOWN_PRESENCE",
    source: "cloud",
    subject: who.name,
    message: `cannot resolve the interrupted creation of ${key}: ${presence.found === "unknown" ? presence.reason : `several carry its identity (${presence.ids.join(", ")})`}`,
    hint: "run the same command again when the cloud answers",
    retryable: true,
  });
}
