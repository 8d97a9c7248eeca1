import { assertNever } from "../api/error.js";

/** A host that is being made and does not count yet. Times are milliseconds since the epoch. */
export interface HostUnderway {
  readonly sinceMs: number;
  /** Absent: it boots. */
  readonly readySinceMs?: number;
  readonly minReadyMs: number;
}

/** What a wave that is still to come has to wait for: hosts that boot, or changes alone. */
export type WaveToCome =
  { readonly kind: "hosts"; readonly minReadyMs: number } | { readonly kind: "changes" };

/** All that an estimate is made from. */
export interface Remaining {
  /** Of the present wave. */
  readonly underway: readonly HostUnderway[];
  /** When the present wave began, if it makes no hosts. */
  readonly changingSinceMs?: number;
  readonly toCome: readonly WaveToCome[];
  /** How long a host takes from its create until it is ready; absent: nobody has measured it. */
  readonly bootMs?: number;
  /** How long a wave takes that makes no hosts. */
  readonly changesMs?: number;
}

export type Estimate =
  /** Nothing is left, or nothing is known about it. */
  | { readonly kind: "none" }
  | { readonly kind: "about"; readonly leftMs: number }
  /** The present wave has taken longer than those before it. */
  | { readonly kind: "exceeded" };

const none: Estimate = { kind: "none" };

/**
 * How long a change will still take, by what was measured of it. A wave of changes of which nothing was
 * measured counts as nothing, beside hosts that boot. Pure.
 */
export function estimateLeft(remaining: Remaining, nowMs: number): Estimate {
  const { underway, changingSinceMs, toCome, bootMs, changesMs } = remaining;
  const boots =
    underway.some(({ readySinceMs }) => readySinceMs === undefined) ||
    toCome.some(({ kind }) => kind === "hosts");
  if (boots && bootMs === undefined) return none;
  const boot = bootMs ?? 0;
  const ends = underway.map(
    ({ sinceMs, readySinceMs = sinceMs + boot, minReadyMs }) => readySinceMs + minReadyMs,
  );
  if (changingSinceMs !== undefined && changesMs !== undefined) {
    ends.push(changingSinceMs + changesMs);
  }
  const presentMs = ends.length === 0 ? 0 : Math.max(...ends) - nowMs;
  if (presentMs < 0) return { kind: "exceeded" };
  const laterMs = toCome
    .map((wave) => (wave.kind === "hosts" ? boot + wave.minReadyMs : (changesMs ?? 0)))
    .reduce((sum, ms) => sum + ms, 0);
  const leftMs = presentMs + laterMs;
  return leftMs === 0 ? none : { kind: "about", leftMs };
}

/** "about 2 min left"; empty where there is no estimate. Pure. */
export function estimateText(estimate: Estimate): string {
  switch (estimate.kind) {
    case "none":
      return "";
    case "about":
      return `about ${roughly(estimate.leftMs)} left`;
    case "exceeded":
      return "longer than estimated";
    default:
      return assertNever(estimate);
  }
}

/** To five seconds below a minute and a half, then to minutes, then to hours. */
function roughly(ms: number): string {
  const seconds = Math.ceil(ms / 5_000) * 5;
  if (seconds <= 90) return `${seconds} s`;
  const minutes = Math.round(ms / 60_000);
  return minutes <= 90 ? `${minutes} min` : `${Math.round(ms / 3_600_000)} h`;
}
