import { CapstanError, isCapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { leftoverWaves } from "../../plan/leftovers.js";
import { type Backoff, backoffMsAfter } from "../../provider/backoff.js";
import { mapBounded } from "../../provider/bounded.js";
import {
  type Leftover,
  leftoverName,
  type LeftoverScope,
  makerText,
} from "../../provider/leftovers.js";
import type { CallContext, InfrastructureProvider } from "../../provider/port.js";
import { reading } from "./observe.js";

interface LeftoverRemoval {
  readonly provider: InfrastructureProvider;
  readonly scope: LeftoverScope;
  readonly context: CallContext;
  /** How long those of one wave may take to go away, milliseconds. */
  readonly timeoutMs: number;
  /** Told why it takes longer, once for each reason. */
  waiting(reason: string): void;
  /** Told of each that is gone. */
  removed(leftover: Leftover): void;
}

const removalsAtATime = 8;
/** Between two looks: load balancers take a minute. */
const lookBackoff: Backoff = { firstMs: 1_000, factor: 1.5, maxMs: 10_000 };

/**
 * Removes what a cluster's controllers have left, wave by wave: the next begins once the cloud shows nothing of the one
 * before. What is in use is tried again until the time is up. Interrupted, it can be called again with what is left.
 * Throws what the first removal failed with that will not go well later, and what stands in the way when the time is up.
 */
export async function removeLeftovers(
  leftovers: readonly Leftover[],
  removal: LeftoverRemoval,
): Promise<void> {
  for (const wave of leftoverWaves(leftovers)) await removeWave(wave, removal);
}

async function removeWave(wave: readonly Leftover[], removal: LeftoverRemoval): Promise<void> {
  const { context, timeoutMs } = removal;
  const { clock, signal } = context;
  const accepted = new Set<string>();
  const told = new Set<string>();
  const deadlineMs = clock.now() + timeoutMs;
  let left = wave;
  for (let looks = 1; ; looks += 1) {
    const asked = left.filter(({ id }) => !accepted.has(id));
    const refusals = await mapBounded(asked, removalsAtATime, (one) => refusalOf(one, removal));
    for (const [index, { id }] of asked.entries()) if (!refusals[index]) accepted.add(id);
    const shown = await shownAmong(left, removal);
    for (const one of left) if (!shown.includes(one) && accepted.has(one.id)) removal.removed(one);
    left = left.filter((one) => shown.includes(one) || !accepted.has(one.id));
    if (left.length === 0) return;
    const refusal = refusals.find((one) => one !== undefined);
    if (clock.now() > deadlineMs) throw refusal ?? stillThere(left, timeoutMs);
    if (refusal !== undefined && !told.has(refusal.message)) removal.waiting(refusal.message);
    if (refusal !== undefined) told.add(refusal.message);
    await clock.sleep(backoffMsAfter(refusal, lookBackoff, looks), signal);
  }
}

/** Why it does not go yet; undefined: it goes. Throws what no later try would change. */
async function refusalOf(
  leftover: Leftover,
  { provider, scope, context }: LeftoverRemoval,
): Promise<CapstanError | undefined> {
  try {
    await provider.removeLeftover?.(context, scope, leftover);
    return undefined;
  } catch (cause) {
    context.signal.throwIfAborted();
    if (!isCapstanError(cause)) throw cause;
    const refusal = refused(leftover, cause);
    if (cause.retryable || cause.ambiguous) return refusal;
    throw refusal;
  }
}

function refused(leftover: Leftover, cause: CapstanError): CapstanError {
  const { code, source, message, hint, retryable, retryAfterMs } = cause;
  return new CapstanError(
    omitUndefined({
      code,
      source,
      subject: leftover.id,
      message: `cannot delete ${leftoverName(leftover)}, ${makerText(leftover)}: ${message}`,
      hint,
      retryable,
      retryAfterMs,
      cause,
    }),
  );
}

async function shownAmong(
  left: readonly Leftover[],
  { provider, scope, context }: LeftoverRemoval,
): Promise<readonly Leftover[]> {
  const listed = await reading(context, async () => provider.leftovers?.(context, scope));
  const ids = new Set((listed ?? []).map(({ id }) => id));
  return left.filter(({ id }) => ids.has(id));
}

function stillThere(left: readonly Leftover[], timeoutMs: number): CapstanError {
  const names = left.map(leftoverName).join(", ");
  return new CapstanError({
    code: "DEADLINE",
    source: "cloud",
    message: `${names}: still there after ${timeoutMs / 1_000} s`,
    hint: "the same command goes on from here; --timeout gives it longer",
  });
}
