import { apiGroup, apiVersionName, kinds, namesOf } from "../api/kind-names.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { apiVersion, isSharedKind, type Kind } from "../api/schema.js";
import type { KubeApi } from "./api.js";
import {
  type ClusterKey,
  clusterKeyOf,
  type LiveCluster,
  liveClusterOf,
  type LiveObject,
  liveName,
} from "./live-object.js";
import { type LiveChange, LiveStore } from "./live-store.js";
import { clustersKeeping } from "./machine-classes.js";
import { SteadyInformer, type WatchMeans } from "./steady-informer.js";

interface CacheOptions extends WatchMeans {
  readonly api: Pick<KubeApi, "list">;
  /** Something that a cluster's intent or status is made from may have changed. */
  readonly onChange: (key: ClusterKey) => void;
  /** A watch broke and is begun anew, or the API server does not answer. */
  readonly onError?: (kind: Kind, error: unknown) => void;
}

/**
 * What an API server holds of our kinds, as far as its watches have told, and what we have written
 * ourselves. Watches that break are begun anew for ever; what happened meanwhile is in the list that a
 * new watch begins with.
 */
export class ObjectCache {
  private readonly objects = new LiveStore<LiveObject>(liveName, (change) => this.changed(change));
  private readonly byCluster = new Map<ClusterKey, Map<string, LiveObject>>();
  private readonly shared = new Map<string, Map<string, LiveObject>>();
  private informers: readonly SteadyInformer<LiveObject>[] = [];
  private readonly synced = new Set<Kind>();
  private stopped = false;

  constructor(private readonly options: CacheOptions) {}

  /** Whether every kind was listed at least once: before, what is missing means nothing. */
  get isSynced(): boolean {
    return kinds.every((kind) => this.synced.has(kind));
  }

  start(): void {
    this.informers = kinds.map((kind) => this.informerOf(kind));
    for (const informer of this.informers) informer.start();
  }

  stop(): void {
    this.stopped = true;
    for (const informer of this.informers) informer.stop();
  }

  /** Clusters that exist, and those that objects say they belong to, or are kept by. */
  keys(): ClusterKey[] {
    const shared = [...this.shared.values()].flatMap((group) => [...group.values()]);
    return [...new Set([...this.byCluster.keys(), ...shared.flatMap(keepersOf)])];
  }

  clusterOf(key: ClusterKey): LiveCluster {
    const [namespace = ""] = key.split("/");
    const own = [...(this.byCluster.get(key)?.values() ?? [])];
    const beside = [...(this.shared.get(namespace)?.values() ?? [])];
    return liveClusterOf(key, own, beside);
  }

  /** What a write of ours was answered: the watch will tell the same, or newer, in a while. */
  accept(object: LiveObject): void {
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    // The answer to a patch that takes the last finalizer away is the object as it went.
    if (deletionTimestamp !== undefined && finalizers.length === 0) this.drop(object);
    else this.objects.put({ ...object, apiVersion });
  }

  /** An object that is gone by our own doing, or by somebody's of whom no watch has told yet. */
  drop(object: LiveObject): void {
    this.objects.remove(object);
  }

  private informerOf(kind: Kind): SteadyInformer<LiveObject> {
    const { config, random, silenceMs, api, onError } = this.options;
    return new SteadyInformer<LiveObject>(
      omitUndefined({
        config,
        random,
        silenceMs,
        path: `/apis/${apiGroup}/${apiVersionName}/${namesOf(kind).plural}`,
        list: () =>
          this.objects.relist(
            () => api.list(kind),
            (one) => one.kind === kind && !this.stopped,
          ),
        onOpen: () => void this.synced.add(kind),
        onPut: (object: LiveObject) => this.objects.put({ ...object, apiVersion, kind }),
        onRemove: (object: LiveObject) => this.drop({ ...object, apiVersion, kind }),
        onError: (error: unknown) => onError?.(kind, error),
      }),
    );
  }

  private changed({ before, after }: LiveChange<LiveObject>): void {
    if (before !== undefined) this.unlink(before);
    if (after !== undefined) this.link(after);
    const hasMoved =
      after === undefined || clusterKeyOf(after) !== (before && clusterKeyOf(before));
    if (before !== undefined && hasMoved) this.tell(before);
    if (after !== undefined) this.tell(after);
  }

  private link(object: LiveObject): void {
    const key = clusterKeyOf(object);
    if (isSharedKind(object.kind)) add(this.shared, object.metadata.namespace, object);
    else if (key !== undefined) add(this.byCluster, key, object);
  }

  private unlink(object: LiveObject): void {
    const key = clusterKeyOf(object);
    if (isSharedKind(object.kind)) drop(this.shared, object.metadata.namespace, object);
    else if (key !== undefined) drop(this.byCluster, key, object);
  }

  private tell(object: LiveObject): void {
    const key = clusterKeyOf(object);
    if (key !== undefined) this.options.onChange(key);
    if (!isSharedKind(object.kind)) return;
    const { namespace } = object.metadata;
    const clusters = [...this.byCluster.keys()].filter((one) => one.startsWith(`${namespace}/`));
    for (const one of new Set([...clusters, ...keepersOf(object)])) this.options.onChange(one);
  }
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
