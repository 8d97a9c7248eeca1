/** What a Lease of coordination.k8s.io/v1 says. */
export interface LeaseRecord {
  /** Another one for each Lease that is made, whatever its name. */
  readonly uid: string;
  /** Changes with every write, whoever wrote. */
  readonly version: string;
  /** Empty when it was released. */
  readonly holder: string;
  readonly durationMs: number;
  /** How often it went from one holder to another. */
  readonly transitions: number;
}

/** What one contender has seen of the Lease, by its own clock alone. */
export interface LeaseView {
  /** Undefined when there was none at the last look. */
  readonly record: LeaseRecord | undefined;
  /** When the last change of it was seen, or would have been at the latest: steady milliseconds. */
  readonly changedAtMs: number;
  /** Whoever held it when it vanished still counts on it for so long. */
  readonly vanishedHoldMs: number;
}

/** All in milliseconds. `durationMs > renewDeadlineMs + safetyMs`, and the difference is the time to stop in. */
export interface LeaseTiming {
  /** How long others respect a lease that they do not see renewed. */
  readonly durationMs: number;
  /** A holder renews so often. */
  readonly renewEveryMs: number;
  /** A holder that could not renew for so long has lost: it starts nothing more, and stops what runs. */
  readonly renewDeadlineMs: number;
  /** Before the end of the lease everything has ended, by so much: clocks do not run at one rate. */
  readonly safetyMs: number;
  /** How often contenders look, and how soon a call that failed is made again. */
  readonly retryEveryMs: number;
  /** A call that takes longer has failed. */
  readonly callTimeoutMs: number;
}

export const defaultLeaseTiming: LeaseTiming = {
  durationMs: 15_000,
  renewEveryMs: 3_000,
  renewDeadlineMs: 8_000,
  safetyMs: 1_500,
  retryEveryMs: 1_000,
  callTimeoutMs: 3_000,
};

export type LeaseStep =
  | { readonly kind: "create" }
  | {
      readonly kind: "take";
      readonly why: "released" | "expired" | "ours";
      readonly from: LeaseRecord;
    }
  | { readonly kind: "renew"; readonly from: LeaseRecord }
  /** Look again after so long. */
  | { readonly kind: "wait"; readonly ms: number; readonly holder: string }
  | { readonly kind: "lose"; readonly reason: string };

/** Who asks, and what it knows. */
export interface LeaseSituation {
  readonly me: string;
  readonly timing: LeaseTiming;
  /** Undefined before the first look. */
  readonly view: LeaseView | undefined;
  /** Of a holder: when it began the last write that was accepted, cautious milliseconds. */
  readonly heldSinceMs: number | undefined;
}

/**
 * The view after a look that showed `record` and was answered at `steadyMs`. Expiry is judged by how
 * long nothing was seen to change, never by times that another machine wrote. Pure.
 */
export function viewAfter(
  view: LeaseView | undefined,
  record: LeaseRecord | undefined,
  steadyMs: number,
): LeaseView {
  if (record !== undefined) {
    const isSame = view?.record?.version === record.version;
    return { record, changedAtMs: isSame ? view.changedAtMs : steadyMs, vanishedHoldMs: 0 };
  }
  if (view?.record === undefined) {
    return view ?? { record, changedAtMs: steadyMs, vanishedHoldMs: 0 };
  }
  const { holder, durationMs } = view.record;
  return { record, changedAtMs: steadyMs, vanishedHoldMs: holder === "" ? 0 : durationMs };
}

/**
 * What to do next. `now` holds both clocks of the one who asks. Pure. A holder writes over records of
 * its own only, a contender over those that ended; the API server refuses both when the record has
 * changed since it was seen.
 */
export function nextLeaseStep(
  situation: LeaseSituation,
  now: { readonly steadyMs: number; readonly cautiousMs: number },
): LeaseStep {
  const { heldSinceMs } = situation;
  return heldSinceMs === undefined
    ? contend(situation, now.steadyMs)
    : hold(situation, heldSinceMs, now.cautiousMs);
}

function contend({ me, timing, view }: LeaseSituation, steadyMs: number): LeaseStep {
  if (view === undefined) return { kind: "wait", ms: 0, holder: "" };
  const { record } = view;
  const goneMs = steadyMs - view.changedAtMs;
  if (record === undefined) {
    const leftMs = view.vanishedHoldMs - goneMs;
    return leftMs <= 0 ? { kind: "create" } : waitFor(leftMs, timing, "");
  }
  if (record.holder === "") return { kind: "take", why: "released", from: record };
  // The answer to a write of ours was lost, or we lost by the deadline and nobody came.
  if (record.holder === me) return { kind: "take", why: "ours", from: record };
  // A record with a shorter lease than ours may be a slip of somebody's hand.
  const leftMs = Math.max(record.durationMs, timing.durationMs) - goneMs;
  if (leftMs <= 0) return { kind: "take", why: "expired", from: record };
  return waitFor(leftMs, timing, record.holder);
}

function hold(situation: LeaseSituation, heldSinceMs: number, cautiousMs: number): LeaseStep {
  const { me, timing, view } = situation;
  const sinceMs = cautiousMs - heldSinceMs;
  if (sinceMs >= timing.renewDeadlineMs) {
    return { kind: "lose", reason: `not renewed for ${Math.round(sinceMs / 1000)} s` };
  }
  const record = view?.record;
  if (record === undefined) return { kind: "create" };
  if (record.holder !== me) {
    return { kind: "lose", reason: record.holder === "" ? "released" : `${record.holder} has it` };
  }
  if (sinceMs >= timing.renewEveryMs) return { kind: "renew", from: record };
  return { kind: "wait", ms: timing.renewEveryMs - sinceMs, holder: me };
}

function waitFor(leftMs: number, timing: LeaseTiming, holder: string): LeaseStep {
  return { kind: "wait", ms: Math.min(leftMs, timing.retryEveryMs), holder };
}
