import { type Backoff, backoffMs } from "../../provider/backoff.js";

/** A cluster that cannot be reached from here is asked less and less. */
const silenceBackoff: Backoff = { firstMs: 60_000, factor: 2, maxMs: 30 * 60_000 };

interface Silence {
  readonly failures: number;
  /** Milliseconds since the epoch. */
  readonly untilMs: number;
  /** What it failed with. */
  readonly why: string;
}

/** Who did not answer when last asked, by UID of the cluster, and until when nobody asks again. */
export class Silences {
  private readonly silent = new Map<string, Silence>();

  /** What the last question failed with, while it is too early for the next; undefined once it may be asked. */
  holds(clusterUid: string, nowMs: number): string | undefined {
    const silence = this.silent.get(clusterUid);
    return silence !== undefined && nowMs < silence.untilMs ? silence.why : undefined;
  }

  failed(clusterUid: string, why: string, nowMs: number): void {
    const failures = (this.silent.get(clusterUid)?.failures ?? 0) + 1;
    const untilMs = nowMs + backoffMs(silenceBackoff, failures);
    this.silent.set(clusterUid, { failures, untilMs, why });
  }

  answered(clusterUid: string): void {
    this.silent.delete(clusterUid);
  }
}
