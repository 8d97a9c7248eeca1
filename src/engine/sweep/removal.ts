import { assertNever, CapstanError, isCapstanError, messageOf } from "../../api/error.js";
import { sameJson } from "../../api/json.js";
import { type Backoff, backoffMs } from "../../provider/backoff.js";
import type {
  CallContext,
  InfrastructureProvider,
  Observed,
  Presence,
} from "../../provider/port.js";
import type { SweepItem } from "../../sweep/decide.js";
import { afterWave, type SweepRemoval } from "../../sweep/waves.js";
import { mapBounded } from "../../provider/bounded.js";

interface RemovalOptions {
  /** Who has listed what, by the numbers of the listings. */
  readonly listedBy: readonly InfrastructureProvider[];
  /** It is asked before each deletion whether the caller still holds its locks. */
  readonly context: CallContext;
  /** How long one resource may take to go away, milliseconds. */
  readonly timeoutMs: number;
  deleted(item: SweepItem): void;
}

/** What could not be deleted, and why. */
export interface LeftOver {
  readonly item: SweepItem;
  readonly reason: string;
}

const removalsAtATime = 8;
/** Between two waves of which the first has deleted nothing. */
const waveBackoff: Backoff = { firstMs: 25, factor: 2, maxMs: 1_000 };
/** Between two looks at what is to go away. */
const departureBackoff: Backoff = { firstMs: 25, factor: 1.5, maxMs: 1_000 };
/** What a deleted resource held may count as held for a moment longer. */
const patienceMs = 5_000;

/**
 * Deletes in waves, newest first: what still has dependents is refused by the cloud and tried again in the
 * next wave, until nothing goes any more. Each resource is located and its identity compared right before
 * its deletion. The caller holds the locks. Resolves with what is left, each with its last refusal; throws what
 * interrupted it, and LOCKED once the caller's locks are no longer its own.
 */
export async function removeInWaves(
  items: readonly SweepItem[],
  options: RemovalOptions,
): Promise<LeftOver[]> {
  const { clock, signal } = options.context;
  let remaining = items.toReversed();
  let lastProgressMs = clock.now();
  for (let waves = 1; ; waves += 1) {
    const removals = await mapBounded(remaining, removalsAtATime, (item) =>
      removalOf(item, options),
    );
    const left = remaining.flatMap((item, index): LeftOver[] => {
      const removal = removals[index];
      return removal?.kind === "failed" ? [{ item, reason: removal.reason }] : [];
    });
    if (left.length < remaining.length) lastProgressMs = clock.now();
    const quietMs = clock.now() - lastProgressMs;
    const next = afterWave(removals, { quietMs, patienceMs, timeoutMs: options.timeoutMs });
    switch (next.kind) {
      case "done":
      case "stop":
        return left;
      case "again":
        waves = 1;
        break;
      case "pause":
        await clock.sleep(backoffMs(waveBackoff, waves), signal);
        break;
      default:
        assertNever(next);
    }
    remaining = left.map(({ item }) => item);
  }
}

async function removalOf(item: SweepItem, options: RemovalOptions): Promise<SweepRemoval> {
  const { signal } = options.context;
  signal.throwIfAborted();
  try {
    await remove(item, options);
    options.deleted(item);
    return { kind: "gone" };
  } catch (error) {
    signal.throwIfAborted();
    if (isCapstanError(error) && error.code === "LOCKED") throw error;
    return { kind: "failed", reason: messageOf(error), transient: isTransient(error) };
  }
}

async function remove(item: SweepItem, options: RemovalOptions): Promise<void> {
  const { provider: name, listing, resource } = item;
  const { listedBy, context, timeoutMs } = options;
  const { who, id } = resource;
  const provider = listedBy[listing];
  if (item.isSecret === true) {
    await context.assertEngineAlive();
    // The store compares the marks itself, and whatever is deleted is out of its sight.
    await provider?.userData?.secrets?.delete(context, id, who);
    return;
  }
  const handler = provider?.handlers.get(who.kind);
  if (handler === undefined) {
    throw failure(resource, "NOT_FOUND", `provider ${name} does not serve ${who.kind}`);
  }
  const locate = () => handler.locate(context, who, id);
  const current = aliveIn(await locate(), resource);
  if (current === undefined) return;
  await context.assertEngineAlive();
  await handler.remove(context, current);
  const deadline = context.clock.now() + timeoutMs;
  for (let looks = 1; ; looks += 1) {
    if (aliveIn(await locate(), resource) === undefined) return;
    if (context.clock.now() > deadline) {
      throw failure(resource, "DEADLINE", `it is still there after ${timeoutMs / 1000} s`);
    }
    await context.clock.sleep(backoffMs(departureBackoff, looks), context.signal);
  }
}

/** The resource itself, or nothing when it is gone. Law 5: throws for what carries other marks by now. */
function aliveIn(presence: Presence, wanted: Observed): Observed | undefined {
  if (presence.found === "none") return undefined;
  if (presence.found === "unknown") throw failure(wanted, "UNKNOWN_PRESENCE", presence.reason);
  if (presence.found === "many") {
    const ids = presence.ids.join(", ");
    throw failure(wanted, "SEVERAL_FOUND", `several carry its identity (${ids})`);
  }
  const { resource } = presence;
  if (resource.phase === "gone") return undefined;
  if (resource.id === wanted.id && sameJson(resource.who, wanted.who)) return resource;
  const marks = `${resource.who.cluster} ${resource.who.kind} ${resource.who.name}`;
  throw failure(wanted, "NOT_OURS", `${resource.id} is marked as ${marks}`);
}

function failure({ who, id }: Observed, code: CapstanError["code"], cause: string): CapstanError {
  return new CapstanError({
    code,
    source: "cloud",
    subject: id,
    message: `cannot delete ${who.kind} ${who.name}: ${cause}`,
  });
}

function isTransient(error: unknown): boolean {
  return isCapstanError(error) && (error.code === "CLOUD_THROTTLED" || error.ambiguous);
}
