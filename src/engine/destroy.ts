import { CapstanError } from "../api/error.js";
import type { ResourceEvent } from "../dynamic/cloud-resource.js";
import { refuseDestruction } from "../plan/protection.js";
import { cloudResources, condemnedResources, emptyState } from "../plan/target.js";
import type { Clock, InfrastructureProvider, Observed } from "../provider/port.js";
import { engineFailed, type StackEngine } from "./engine.js";
import { type Inventory, verifyInventory } from "./inventory.js";
import { resolvePendingCreates, settleLastCalls } from "./recover.js";
import { callContext, type StepwiseOptions, stepwiseSession } from "./session.js";
import { refuseForeign, type StackState } from "./state.js";

export interface DestroyOptions {
  readonly engine: StackEngine;
  readonly provider: InfrastructureProvider;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly stop: AbortSignal;
  /** Names of protected objects whose annotation was taken away since they were recorded. */
  readonly released?: readonly string[];
  report(event: ResourceEvent): void;
}

/**
 * Deletes everything that a stack records, dependents first, and looks afterwards. Forward only: the
 * same command finishes what this one could not. Throws CLOUD_FAILED or ENGINE_FAILED when something
 * is left in the record, PROTECTED before anything is touched, NOT_OURS never deletes. Returns what two looks afterwards say.
 */
export async function destroyCluster(
  stack: string,
  state: StackState,
  options: DestroyOptions,
): Promise<{ readonly deleted: number; readonly inventory: Inventory }> {
  refuseForeign(state, stack);
  refuseDestruction([state], options.released);
  const { engine, provider, clock, timeoutMs, stop } = options;
  await settleLastCalls(engine, provider, callContext(clock, stop));
  const failures: ResourceEvent[] = [];
  const session = (how: Pick<StepwiseOptions, "stop" | "assertEngineAlive">) =>
    stepwiseSession({
      provider,
      clock,
      timeoutMs,
      ...how,
      report: (event) => {
        if (event.state === "failed") failures.push(event);
        options.report(event);
      },
    });
  const context = callContext(clock, stop);
  const between = () => session({ stop, assertEngineAlive: () => {} });
  const resolved = await resolvePendingCreates(stack, state, {
    engine,
    provider,
    context,
    session: between,
  });
  // What an apply that broke off left in no record goes first: recorded things may be in use by it.
  const all = [...cloudResources(resolved), ...condemnedResources(resolved)];
  const recorded = new Set(all.map(({ id }) => id));
  const removeUnrecorded = async () => {
    const abandoned = (await aliveResources(options, state)).filter(({ id }) => !recorded.has(id));
    for (const { id, who } of abandoned.toReversed()) {
      stop.throwIfAborted();
      await between().lookup(who.kind).delete(id, { who });
    }
    return abandoned.length;
  };
  const abandoned = await removeUnrecorded();
  const result = await engine.destroy(
    stack,
    session({ assertEngineAlive: () => engine.assertAlive() }),
  );
  stop.throwIfAborted();
  if (result.code !== 0 && failures.length === 0)
    throw engineFailed(`cannot destroy ${stack}`, result);
  if (result.code !== 0) throw leftOver(stack, failures);
  const verified = await verifyNothingLeft(options, state);
  if (verified.differences.length === 0) {
    return { deleted: recorded.size + abandoned, inventory: verified };
  }
  // A listing that lagged behind has hidden something at first.
  const late = await removeUnrecorded();
  const inventory = await verifyNothingLeft(options, state);
  return { deleted: recorded.size + abandoned + late, inventory };
}

/** The cloud held against an empty state. */
async function verifyNothingLeft(
  options: DestroyOptions,
  { transaction }: StackState,
): Promise<Inventory> {
  if (transaction === undefined) return { recorded: 0, alive: 0, settledMs: 0, differences: [] };
  const { cluster } = transaction.target;
  return verifyInventory({ cluster, transaction }, emptyState, options);
}

/** What the cloud still shows alive with this cluster's marks. */
async function aliveResources(
  { provider, clock, stop }: DestroyOptions,
  { transaction }: StackState,
): Promise<Observed[]> {
  if (transaction === undefined) return [];
  const { clusterUid, target } = transaction;
  const scope = { cluster: target.cluster, clusterUid };
  const listed = await provider.inventory(callContext(clock, stop), scope);
  return listed.filter(({ phase }) => phase !== "gone");
}

function leftOver(stack: string, failures: readonly ResourceEvent[]): CapstanError {
  return new CapstanError({
    code: "CLOUD_FAILED",
    source: "cloud",
    subject: stack,
    message: failures
      .map(({ kind, name, message }) => `cannot delete ${kind} ${name}: ${message ?? ""}`)
      .join("\n"),
    hint: "the same command goes on with what is left",
  });
}
