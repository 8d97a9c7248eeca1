import { setTimeout as wait } from "node:timers/promises";
import { type KubeConfig, type KubernetesObject, ListWatch } from "@kubernetes/client-node";
import { type Backoff, backoffMs } from "../provider/backoff.js";
import { SteadyWatch } from "./steady-watch.js";

/** What every watch of a process is opened with. */
export interface WatchMeans {
  readonly config: KubeConfig;
  /** From 0 to below 1, as Math.random. */
  readonly random: () => number;
  /** A watch that says nothing for so long may have lost its API server, and is opened anew. */
  readonly silenceMs?: number;
}

interface InformerOptions<T> extends WatchMeans {
  /** "/api/v1/secrets". */
  readonly path: string;
  /** Only objects with this label. */
  readonly label?: string;
  /** What is there; the answer is what a watch goes on from. */
  readonly list: () => Promise<{ readonly items: readonly T[] }>;
  /** An API server has taken the watch on, for the first time or anew. */
  readonly onOpen: () => void;
  readonly onPut: (object: T) => void;
  readonly onRemove: (object: T) => void;
  /** The watch broke and is begun anew, or the API server does not answer. */
  readonly onError: (error: unknown) => void;
}

const restartBackoff: Backoff = { firstMs: 500, factor: 2, maxMs: 15_000, jitter: 0.5 };
const defaultSilenceMs = 30_000;

/** A list and a watch of one resource that is begun anew for ever, until it is stopped. */
export class SteadyInformer<T> {
  private readonly watch: SteadyWatch;
  private readonly informer: ListWatch<KubernetesObject>;
  private failures = 0;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(private readonly options: InformerOptions<T>) {
    const { config, path, label, silenceMs = defaultSilenceMs, list } = options;
    this.watch = new SteadyWatch(config, {
      silenceMs,
      onOpen: () => this.opened(),
      onLost: () => this.listAnew(),
    });
    this.informer = new ListWatch<KubernetesObject>(
      ...([path, this.watch, list as never, false, label, undefined] as const),
      { delayFn: (ms) => wait(ms, undefined, { ref: false }) },
    );
    const put = (object: KubernetesObject) => options.onPut(object as unknown as T);
    this.informer.on("add", put);
    this.informer.on("update", put);
    this.informer.on("delete", (object) => options.onRemove(object as unknown as T));
    // As shipped a watch that broke stays broken.
    this.informer.on("error", (error: unknown) => this.broke(error));
  }

  start(): void {
    void this.informer.start();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.watch.shut();
    void this.informer.stop();
  }

  /** The next watch begins with a list. The library would go on from where the last one was. */
  private listAnew(): void {
    Object.assign(this.informer, { resourceVersion: "" });
  }

  private opened(): void {
    this.failures = 0;
    this.options.onOpen();
  }

  private broke(error: unknown): void {
    if (this.stopped) return;
    this.options.onError(error);
    this.failures += 1;
    const waitMs = backoffMs(restartBackoff, this.failures, this.options.random());
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.start(), waitMs);
  }
}
