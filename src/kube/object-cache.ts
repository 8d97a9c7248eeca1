import { setTimeout as wait } from "node:timers/promises";
import { type KubeConfig, type KubernetesObject, ListWatch } from "@kubernetes/client-node";
import { apiGroup, apiVersionName, kinds, namesOf } from "../api/kind-names.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { apiVersion, type Kind } from "../api/schema.js";
import { type Backoff, backoffMs } from "../provider/backoff.js";
import type { KubeApi } from "./api.js";
import {
  type ClusterKey,
  clusterKeyOf,
  type LiveCluster,
  type LiveObject,
  liveName,
} from "./live-object.js";
import { clustersKeeping } from "./machine-classes.js";
import { SteadyWatch } from "./steady-watch.js";

interface CacheOptions {
  readonly config: KubeConfig;
  readonly api: Pick<KubeApi, "list">;
  /** Something that a cluster's intent or status is made from may have changed. */
  readonly onChange: (key: ClusterKey) => void;
  /** A watch broke and is begun anew, or the API server does not answer. */
  readonly onError?: (kind: Kind, error: unknown) => void;
  /** From 0 to below 1, as Math.random. */
  readonly random: () => number;
  /** A watch that says nothing for so long may have lost its API server, and is opened anew. */
  readonly silenceMs?: number;
}

type Versioned = Pick<LiveObject["metadata"], "resourceVersion">;
type Listed = Awaited<ReturnType<KubeApi["list"]>>;

const restartBackoff: Backoff = { firstMs: 500, factor: 2, maxMs: 15_000, jitter: 0.5 };
const defaultSilenceMs = 30_000;
/** Objects that are known to be gone for good: late news of more than these does not come. */
const mostBuried = 10_000;

/**
 * What an API server holds of our kinds, as far as its watches have told, and what we have written
 * ourselves. Watches that break are begun anew for ever; what happened meanwhile is in the list that a
 * new watch begins with.
 */
export class ObjectCache {
  private readonly objects = new Map<string, LiveObject>();
  private readonly byCluster = new Map<ClusterKey, Map<string, LiveObject>>();
  private readonly classes = new Map<string, Map<string, LiveObject>>();
  /** UIDs of objects that are gone: what is still told of them is old. */
  private readonly buried = new Set<string>();
  private readonly informers = new Map<Kind, ListWatch<KubernetesObject>>();
  private readonly watches = new Set<SteadyWatch>();
  private readonly synced = new Set<Kind>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private stopped = false;

  constructor(private readonly options: CacheOptions) {}

  /** Whether every kind was listed at least once: before, what is missing means nothing. */
  get isSynced(): boolean {
    return kinds.every((kind) => this.synced.has(kind));
  }

  start(): void {
    for (const kind of kinds) this.watch(kind);
  }

  stop(): void {
    this.stopped = true;
    for (const timer of this.timers) clearTimeout(timer);
    for (const watch of this.watches) watch.shut();
    for (const informer of this.informers.values()) void informer.stop();
  }

  /** Clusters that exist, and those that objects say they belong to, or are kept by. */
  keys(): ClusterKey[] {
    const classes = [...this.classes.values()].flatMap((group) => [...group.values()]);
    return [...new Set([...this.byCluster.keys(), ...classes.flatMap(keepersOf)])];
  }

  clusterOf(key: ClusterKey): LiveCluster {
    const all = [...(this.byCluster.get(key)?.values() ?? [])];
    const [namespace = ""] = key.split("/");
    const cluster = all.find(({ kind }) => kind === "Cluster");
    return omitUndefined({
      key,
      cluster,
      members: all.filter(({ kind }) => kind !== "Cluster"),
      classes: [...(this.classes.get(namespace)?.values() ?? [])],
    });
  }

  /** What a write of ours was answered: the watch will tell the same, or newer, in a while. */
  accept(object: LiveObject): void {
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    // The answer to a patch that takes the last finalizer away is the object as it went.
    if (deletionTimestamp !== undefined && finalizers.length === 0) this.remove(object);
    else this.put({ ...object, apiVersion });
  }

  /** An object that is gone by our own doing, or by somebody's of whom no watch has told yet. */
  drop(object: LiveObject): void {
    this.remove(object);
  }

  private watch(kind: Kind): void {
    const path = `/apis/${apiGroup}/${apiVersionName}/${namesOf(kind).plural}`;
    let failures = 0;
    const list = async () => {
      const listed = await this.options.api.list(kind);
      if (!this.stopped) this.forgetMissing(kind, listed);
      return listed as unknown as { items: KubernetesObject[] };
    };
    const watch = new SteadyWatch(this.options.config, {
      silenceMs: this.options.silenceMs ?? defaultSilenceMs,
      onOpen: () => {
        failures = 0;
        this.synced.add(kind);
      },
    });
    const informer = new ListWatch<KubernetesObject>(
      ...([path, watch, list as never, false, undefined, undefined] as const),
      { delayFn: (ms) => wait(ms, undefined, { ref: false }) },
    );
    const put = (object: KubernetesObject) =>
      this.put({ ...(object as unknown as LiveObject), apiVersion, kind });
    informer.on("add", put);
    informer.on("update", put);
    informer.on("delete", (object) =>
      this.remove({ ...(object as unknown as LiveObject), apiVersion, kind }),
    );
    // As shipped a watch that broke stays broken.
    informer.on("error", (error: unknown) => {
      if (this.stopped) return;
      this.options.onError?.(kind, error);
      failures += 1;
      const waitMs = backoffMs(restartBackoff, failures, this.options.random());
      this.later(waitMs, () => void informer.start());
    });
    this.informers.set(kind, informer);
    this.watches.add(watch);
    void informer.start();
  }

  private later(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      if (!this.stopped) work();
    }, ms);
    this.timers.add(timer);
  }

  /** What was deleted while nobody watched. */
  private forgetMissing(kind: Kind, { items, metadata }: Listed): void {
    const listed = new Set(items.map(liveName));
    for (const [name, object] of this.objects) {
      if (object.kind !== kind || listed.has(name)) continue;
      // What we have made since the list was made is missing in it, too.
      if (!isNewer(object.metadata, metadata)) this.remove(object);
    }
  }

  private put(object: LiveObject): void {
    const { uid } = object.metadata;
    const name = liveName(object);
    const known = this.objects.get(name);
    if (this.buried.has(uid)) return;
    if (known !== undefined && !isNewer(object.metadata, known.metadata)) return;
    if (known !== undefined) this.unlink(known);
    this.objects.set(name, object);
    this.link(object);
    if (known !== undefined && clusterKeyOf(known) !== clusterKeyOf(object)) this.tell(known);
    this.tell(object);
  }

  private remove(object: LiveObject): void {
    const name = liveName(object);
    const known = this.objects.get(name);
    this.bury(object.metadata.uid);
    if (known?.metadata.uid !== object.metadata.uid) return;
    this.objects.delete(name);
    this.unlink(known);
    this.tell(known);
  }

  private bury(uid: string): void {
    this.buried.add(uid);
    if (this.buried.size <= mostBuried) return;
    for (const oldest of this.buried) {
      this.buried.delete(oldest);
      return;
    }
  }

  private link(object: LiveObject): void {
    const key = clusterKeyOf(object);
    if (object.kind === "MachineClass") add(this.classes, object.metadata.namespace, object);
    else if (key !== undefined) add(this.byCluster, key, object);
  }

  private unlink(object: LiveObject): void {
    const key = clusterKeyOf(object);
    if (object.kind === "MachineClass") drop(this.classes, object.metadata.namespace, object);
    else if (key !== undefined) drop(this.byCluster, key, object);
  }

  private tell(object: LiveObject): void {
    const key = clusterKeyOf(object);
    if (key !== undefined) this.options.onChange(key);
    if (object.kind !== "MachineClass") return;
    const { namespace } = object.metadata;
    const clusters = [...this.byCluster.keys()].filter((one) => one.startsWith(`${namespace}/`));
    for (const one of new Set([...clusters, ...keepersOf(object)])) this.options.onChange(one);
  }
}

/**
 * Versions of one API server's objects count upwards, also from one object of a name to the next, so
 * that older news can be told from newer.
 */
function isNewer(left: Versioned, right: Versioned): boolean {
  return BigInt(left.resourceVersion) > BigInt(right.resourceVersion);
}

function keepersOf(object: LiveObject): ClusterKey[] {
  return clustersKeeping(object).map((name) => `${object.metadata.namespace}/${name}`);
}

function add(index: Map<string, Map<string, LiveObject>>, key: string, object: LiveObject): void {
  const group = index.get(key) ?? new Map<string, LiveObject>();
  group.set(liveName(object), object);
  index.set(key, group);
}

function drop(index: Map<string, Map<string, LiveObject>>, key: string, object: LiveObject): void {
  const group = index.get(key);
  group?.delete(liveName(object));
  if (group?.size === 0) index.delete(key);
}
