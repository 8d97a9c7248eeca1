import type { CapstanError } from "../api/error.js";
import { sameJson } from "../api/json.js";
import { type DriftMemory, type JudgedDrift, newsOf, noMemory } from "../drift/judge.js";
import { type Diagnostic, diagnosticText } from "../manifest/diagnostic.js";
import { type Backoff, backoffMs } from "../provider/backoff.js";
import {
  type CertificateExpiry,
  type CertificateReport,
  noCertificates,
} from "../source/certificate-report.js";
import type { ClusterView, Unmet } from "../source/cluster-view.js";
import type { Intent } from "../source/intent.js";
import { type OverwriteBackoff, overwriteBackoffAfter } from "./overwrite-backoff.js";

/** What was asked for and could not be had, so that it is not tried at once again. */
export interface FailedAttempt {
  /** Of the intent that failed. */
  readonly digest: string;
  readonly failures: number;
  readonly untilMs: number;
  readonly message: string;
  /** Meanwhile the last revision is kept running; without, nothing is done. */
  readonly isTakenBack: boolean;
  readonly unmet: Unmet;
}

/** Nothing was left to do when this was asked for, and the cloud looked like this: a later look is held against it. */
export interface DriftBaseline {
  readonly digest: string;
  readonly observedDigest: string;
  /** Of what its Nodes said; absent where they said nothing. */
  readonly nodesDigest?: string;
  /** Then something is due, although everything looks the same. */
  readonly untilMs?: number;
}

/** Between two attempts at the same, of which the first has failed. */
const attemptBackoff: Backoff = { firstMs: 30_000, factor: 2, maxMs: 30 * 60_000 };

/**
 * What the controller remembers of one cluster from one reconcile to the next. All of it can be found out
 * again: a restart forgets it. Changed by what happens to the cluster, and by nothing else.
 */
export class ClusterState {
  private askedDigest: string | undefined;
  private running: AbortController | undefined;
  /** A baseline belongs to the view that was made with it: another view is without one. */
  private last: { readonly view: ClusterView; readonly baseline?: DriftBaseline } | undefined;
  private failure: FailedAttempt | undefined;
  private overwrites: OverwriteBackoff | undefined;
  private memory: DriftMemory = noMemory;
  private toldDrift: string | undefined;
  private toldCertificates: CertificateReport = noCertificates;
  private toldWarnings: ReadonlySet<string> = new Set();

  /** Of the intent that the present or last work was about. */
  get digest(): string | undefined {
    return this.askedDigest;
  }

  get isRunning(): boolean {
    return this.running !== undefined;
  }

  /** The last status of it. */
  get view(): ClusterView | undefined {
    return this.last?.view;
  }

  /** Undefined while anything may be left to do. */
  get baseline(): DriftBaseline | undefined {
    return this.last?.baseline;
  }

  /** The last attempt at what is wanted, if it failed, whether or not it may be tried again. */
  get failedAttempt(): FailedAttempt | undefined {
    return this.failure;
  }

  get drift(): DriftMemory {
    return this.memory;
  }

  /** What failed and is not tried again yet. */
  heldAttempt(nowMs: number): FailedAttempt | undefined {
    return this.failure !== undefined && nowMs < this.failure.untilMs ? this.failure : undefined;
  }

  /** Work on it begins. A failure counts against what failed alone, and nothing but a wanted cluster is settled. */
  asked({ kind, digest }: Pick<Intent, "kind" | "digest">): void {
    this.askedDigest = digest;
    if (kind !== "want" && kind !== "invalid") this.unsettled();
    else if (this.failure?.digest !== digest) this.failure = undefined;
  }

  /** Work that can be broken off between two waves, by `superseded`. Rejects with what `work` rejects with. */
  async whileRunning<T>(work: (superseded: AbortSignal) => Promise<T>): Promise<T> {
    const running = new AbortController();
    this.running = running;
    try {
      return await work(running.signal);
    } finally {
      this.running = undefined;
    }
  }

  /** Something else is asked for than what is worked on, if anything is. */
  superseded(reason: CapstanError): void {
    this.running?.abort(reason);
  }

  /** This is shown of it from now on. Whether anything is left to do has to be found out again. */
  shown(view: ClusterView): void {
    this.last = { view };
  }

  /** Nothing is left to do, and `view` is shown. */
  settled(view: ClusterView, baseline: DriftBaseline): void {
    this.last = { view, baseline };
  }

  /** Something went wrong or has changed, so that it has to be looked at in full. */
  unsettled(): void {
    if (this.last !== undefined) this.last = { view: this.last.view };
  }

  /** What was asked for is there: a failure before it means nothing any more. */
  succeeded(): void {
    this.failure = undefined;
  }

  /** An attempt has failed, and is put off: each time for longer, as long as the same is asked for. */
  failed(attempt: Omit<FailedAttempt, "failures" | "untilMs">, nowMs: number): FailedAttempt {
    const before = this.failure?.digest === attempt.digest ? this.failure.failures : 0;
    const failures = before + 1;
    const untilMs = nowMs + backoffMs(attemptBackoff, failures);
    this.failure = { ...attempt, failures, untilMs };
    this.unsettled();
    return this.failure;
  }

  /** A look has been judged. Whether it found other drift than the last one, or none any more. */
  driftSeen(judged: JudgedDrift): boolean {
    const news = newsOf(judged);
    const isNews = news !== this.toldDrift;
    this.memory = judged.memory;
    this.toldDrift = news;
    return isNews;
  }

  /** Warnings about its objects, all that there are now. Those that nobody was told yet. */
  warned(warnings: readonly Diagnostic[]): Diagnostic[] {
    const told = this.toldWarnings;
    this.toldWarnings = new Set(warnings.map(diagnosticText));
    return warnings.filter((warning) => !told.has(diagnosticText(warning)));
  }

  /** Its certificates as they are now. What of it nobody was told yet: expiries that passed a threshold, conflicts. */
  certificatesSeen({ expiries, conflicts }: CertificateReport): CertificateReport {
    const told = this.toldCertificates;
    this.toldCertificates = { expiries, conflicts };
    const isTold = ({ name, withinDays }: CertificateExpiry) =>
      told.expiries.some((one) => one.name === name && one.withinDays === withinDays);
    const passed = expiries.filter(({ withinDays }) => withinDays !== undefined);
    return {
      expiries: passed.filter((one) => !isTold(one)),
      conflicts: sameJson([...told.conflicts], [...conflicts]) ? [] : conflicts,
    };
  }

  /**
   * Somebody has written over what is shown of it. In how many milliseconds that is to be put right, later
   * each time; undefined when it is to be already.
   */
  overwritten(nowMs: number): number | undefined {
    if (this.overwrites !== undefined && nowMs < this.overwrites.againAtMs) return undefined;
    this.overwrites = overwriteBackoffAfter(this.overwrites, nowMs);
    return this.overwrites.againAtMs - nowMs;
  }
}
