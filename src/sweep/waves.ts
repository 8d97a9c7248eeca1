/** How the removal of one resource went. */
export type SweepRemoval =
  | { readonly kind: "gone" }
  /** `transient`: the cloud was slow or gave no answer, which says nothing about the resource. */
  | { readonly kind: "failed"; readonly reason: string; readonly transient: boolean };

/** What follows a wave of removals. */
type AfterWave =
  | { readonly kind: "done" }
  /** Try what failed again: something went, so what depended on it may have gone too. */
  | { readonly kind: "again" }
  /** Nothing went; what has gone may still show for a moment. */
  | { readonly kind: "pause" }
  /** Nothing goes any more. */
  | { readonly kind: "stop" };

interface WaveTimes {
  /** Since something went last, or since the beginning. */
  readonly quietMs: number;
  /** How long it may be quiet before what fails is taken for a blocker. */
  readonly patienceMs: number;
  /** How long it may be quiet when failures are transient. */
  readonly timeoutMs: number;
}

/** What follows a wave. An error of one resource never ends the others' removal. Pure. */
export function afterWave(removals: readonly SweepRemoval[], times: WaveTimes): AfterWave {
  const failed = removals.filter((removal) => removal.kind === "failed");
  if (failed.length === 0) return { kind: "done" };
  if (failed.length < removals.length) return { kind: "again" };
  const { quietMs, patienceMs, timeoutMs } = times;
  const limitMs = failed.some(({ transient }) => transient) ? timeoutMs : patienceMs;
  return { kind: quietMs < limitMs ? "pause" : "stop" };
}
