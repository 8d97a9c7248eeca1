import { callContext } from "../engine/run/handler-session.js";
import type { InfrastructureProvider } from "../provider/port.js";
import { pollCertificates, tellCertificates } from "./poll-certificates.js";
import { pollDrift } from "./poll-drift.js";
import { pollNodes } from "./poll-nodes.js";
import type { KeyedQueue, WorkOutcome } from "./queue.js";
import { Reconciler, shownBy } from "./reconciler.js";
import type { ReconcilerOptions } from "./reconciler-options.js";
import { SharedListing } from "./shared-listing.js";

export interface ControllerOptions extends Omit<ReconcilerOptions, "providers" | "stop"> {
  readonly providers: readonly InfrastructureProvider[];
  readonly queue: KeyedQueue;
  /** Clusters worked on at the same time: mostly they wait for hosts. */
  readonly concurrency: number;
  /** Milliseconds between two looks for drift. */
  readonly periodMs: number;
  readonly random: () => number;
  readonly onListingFailure: (provider: string, error: unknown) => void;
}

/** Changes come in bursts: what is asked for is read once they have settled. */
const burstMs = 200;

/** The watch loop over every cluster of one source, while it leads. */
export class Controller {
  private readonly reconciler: Reconciler;
  private readonly listings: readonly SharedListing[];
  private readonly providers: readonly InfrastructureProvider[];
  private readonly changed = new Set<string>();
  private readonly stopping = new AbortController();

  constructor(private readonly options: ControllerOptions) {
    const { clock } = options;
    const stop = this.stopping.signal;
    const context = callContext(clock, stop);
    this.listings = options.providers.map((provider) => new SharedListing(provider, context));
    this.providers = this.listings.map(({ provider }) => provider);
    this.reconciler = new Reconciler({ ...options, providers: this.providers, stop });
  }

  /**
   * Works until the signal; then begins nothing more, and resolves when what was under way has come to a
   * place from which it goes on later.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { queue, source, concurrency, clock, periodMs, random } = this.options;
    const stop = () => this.stopping.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    for (const key of source.keys()) queue.add(key);
    await Promise.all([
      queue.work(concurrency, signal, (key) => this.reconcileKey(key)),
      pollCertificates(
        {
          ...this.options,
          providers: this.providers,
          remembered: () => this.reconciler.remembered(),
          onChange: (key) => this.onChange(key),
        },
        signal,
      ),
      pollNodes(
        {
          nodeReports: this.options.nodeReports,
          providers: this.providers,
          context: callContext(clock, signal),
          clock,
          periodMs,
          random,
          remembered: () => this.reconciler.remembered(),
          onChange: (key) => queue.add(key),
        },
        signal,
      ),
      ...this.listings.map((listing) =>
        pollDrift(
          {
            listing,
            clock,
            periodMs,
            random,
            remembered: () => this.reconciler.remembered(),
            onChange: (key) => queue.add(key),
            onFailure: (error) => this.options.onListingFailure(listing.provider.name, error),
          },
          signal,
        ),
      ),
    ]);
  }

  private async reconcileKey(key: string): Promise<WorkOutcome> {
    try {
      return await this.reconciler.reconcile(key);
    } finally {
      // What has changed meanwhile, and what could not be shown, is not told of again.
      const cluster = this.reconciler.remembered().get(key);
      if (cluster !== undefined) {
        this.onChange(key);
        tellCertificates(key, cluster, { ...this.options, providers: this.providers });
      }
    }
  }

  /** Something about a cluster's objects is new to its source. */
  onChange(key: string): void {
    if (this.changed.size === 0) void this.readSoon();
    this.changed.add(key);
  }

  private async readSoon(): Promise<void> {
    try {
      await this.options.clock.sleep(burstMs, this.stopping.signal);
    } catch {
      return;
    }
    const keys = [...this.changed];
    this.changed.clear();
    for (const key of keys) {
      try {
        this.read(key);
      } catch {
        // Whoever works on it meets the same, and it is told and put off there.
        this.options.queue.add(key);
      }
    }
  }

  private read(key: string): void {
    const { source, queue, clock } = this.options;
    const cluster = this.reconciler.clusterStateOf(key);
    if (source.intentOf(key).digest !== cluster.digest) {
      this.reconciler.supersede(key);
      queue.addChanged(key);
      return;
    }
    const { view } = cluster;
    if (cluster.isRunning || view === undefined) return;
    const provider = shownBy(view, this.providers);
    if (provider === undefined || source.isShown(key, view, provider)) return;
    // Somebody else has written over what is shown, perhaps somebody who does so each time.
    const waitMs = cluster.overwritten(clock.now());
    if (waitMs === undefined) return;
    if (waitMs === 0) queue.add(key);
    else queue.addAfter(key, waitMs);
  }
}
