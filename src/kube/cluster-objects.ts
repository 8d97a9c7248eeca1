import { CapstanError } from "../api/error.js";
import { kinds, namesOf } from "../api/kind-names.js";
import type { AnyObject } from "../api/types.js";
import { type Backoff, backoffMs } from "../provider/backoff.js";
import type { Clock } from "../provider/port.js";
import type { KubeApi } from "./api.js";
import {
  type ClusterKey,
  clusterKeyOf,
  isDeleting,
  type LiveCluster,
  liveClusterOf,
  type LiveObject,
} from "./live-object.js";
import {
  arrivalOf,
  departureOf,
  isMoving,
  movingMark,
  pauseBefore,
  pauseOf,
  pausing,
  foreignAmong,
} from "./move-objects.js";
import type { ApiWrite } from "./api-write.js";
import { statusOf } from "./requests.js";

interface ClusterObjectsOptions {
  readonly api: Pick<KubeApi, "list" | "write">;
  readonly key: ClusterKey;
  readonly clock: Clock;
  readonly stop: AbortSignal;
  /** Tells this attempt to move from others. */
  readonly attempt: string;
}

const pollMs = 200;
const readBackoff: Backoff = { firstMs: 200, factor: 2, maxMs: 3_200 };
const mostReadRetries = 5;
/** Kinds leave one after the other, each in two steps; more is somebody who holds on. */
const mostDepartures = 50;

/** The objects of one cluster in an API server, while it moves. Everything can be done again. */
export class ClusterObjects {
  constructor(private readonly options: ClusterObjectsOptions) {}

  /** Throws API_SERVER. */
  async read(): Promise<LiveCluster> {
    const { api, key } = this.options;
    const [namespace] = key.split("/");
    const all: LiveObject[] = [];
    for (const kind of kinds) {
      all.push(...(await this.answered(() => api.list(kind))).items);
    }
    const own = all.filter((one) => clusterKeyOf(one) === key);
    const beside = all.filter(({ metadata }) => metadata.namespace === namespace);
    return liveClusterOf(key, own, beside);
  }

  /** Pauses the Cluster as moving; returns the annotation, an earlier attempt's if that has done it. */
  async pause(): Promise<string> {
    const { cluster } = await this.read();
    if (cluster === undefined) throw this.changed("the Cluster is gone");
    const pause = pauseOf(cluster);
    if (pause !== undefined && isMoving(cluster)) return pause;
    const mark = movingMark(this.options.attempt, pause);
    await this.carryOut(pausing(cluster, mark));
    return mark;
  }

  /** Takes a move's pause away; nobody else's, which counts again. */
  async unpause(): Promise<void> {
    const { cluster } = await this.read();
    if (cluster === undefined || !isMoving(cluster)) return;
    await this.carryOut(pausing(cluster, pauseBefore(pauseOf(cluster) ?? "")));
  }

  /** Throws API_SERVER where the API server holds others than these of the cluster. Returns what it holds. */
  async refuseOthers(objects: readonly AnyObject[]): Promise<LiveCluster> {
    const live = await this.read();
    const foreign = foreignAmong(objects, live);
    if (foreign.length === 0) return live;
    const names = foreign.map(({ kind, metadata }) => `${kind} ${metadata.name}`).join(", ");
    throw this.refused(
      `the API server holds ${names} of ${this.options.key}, which its last revision has not, or has otherwise`,
    );
  }

  /** Makes the API server hold these objects and no others of the cluster, paused. Returns how many. */
  async arrive(objects: readonly AnyObject[]): Promise<number> {
    const { attempt } = this.options;
    let live = await this.refuseOthers(objects);
    // What is being deleted would go once it is acted on, and its hosts with it.
    if ([...live.members, ...(live.cluster ? [live.cluster] : [])].some(isDeleting)) {
      await this.depart();
      live = await this.read();
    }
    const mark = pauseOf(live.cluster) ?? movingMark(attempt);
    for (const write of arrivalOf(objects, live, mark)) await this.carryOut(write);
    return objects.length;
  }

  /** Takes every object out of the API server. No host is touched: nobody who may is left to look. */
  async depart(): Promise<void> {
    const { api, clock, stop } = this.options;
    for (let round = 0; round < mostDepartures; round += 1) {
      const live = await this.read();
      if (live.cluster === undefined && live.members.length === 0) return;
      for (const write of departureOf(live)) await api.write(write);
      await clock.sleep(round < 5 ? 0 : pollMs, stop);
    }
    throw this.refused("others hold on to objects by finalizers of their own");
  }

  /** Asked again for a while where that can help: an API server that has just learnt of a kind is not ready. */
  private async answered<T>(ask: () => Promise<T>): Promise<T> {
    const { clock, stop } = this.options;
    for (let failures = 1; ; failures += 1) {
      try {
        return await ask();
      } catch (error) {
        const isPassing = error instanceof CapstanError && error.retryable;
        if (!isPassing || failures > mostReadRetries) return refuseUnknownKind(error);
        await clock.sleep(backoffMs(readBackoff, failures), stop);
      }
    }
  }

  private async carryOut(write: ApiWrite): Promise<void> {
    const result = await this.options.api.write(write);
    if (result.kind === "written") return;
    if (write.kind === "create") {
      const { kind, metadata } = write.object;
      throw this.refused(
        result.kind === "gone"
          ? `the API server has no namespace ${metadata.namespace}`
          : `the API server holds ${kind} ${metadata.name}, which is not of this cluster`,
      );
    }
    throw this.changed("somebody else has changed its objects meanwhile");
  }

  private changed(cause: string): CapstanError {
    return this.failure(cause, "the same command goes on");
  }

  private refused(cause: string): CapstanError {
    return this.failure(cause, "see to that first; then the same command goes on");
  }

  private failure(cause: string, hint: string): CapstanError {
    const { key } = this.options;
    return new CapstanError({
      code: "API_SERVER",
      source: "user",
      subject: key,
      message: `cannot move ${key}: ${cause}`,
      hint,
    });
  }
}

function refuseUnknownKind(error: unknown): never {
  if (!(error instanceof CapstanError) || statusOf(error.cause) !== 404) throw error;
  throw new CapstanError({
    code: "API_SERVER",
    source: "user",
    message: `cannot move anything there: the API server does not know ${namesOf("Cluster").plural} and what belongs to them`,
    hint: "capstan install makes it know them; nothing was changed",
    cause: error,
  });
}
