import { type KubeConfig, type KubernetesObject, makeInformer } from "@kubernetes/client-node";
import { apiGroup, apiVersionName, kinds, namesOf } from "../api/kind-names.js";
import { apiVersion, type Kind } from "../api/schema.js";
import type { KubeApi } from "./api.js";
import {
  type ClusterKey,
  clusterKeyOf,
  type LiveCluster,
  type LiveObject,
  liveName,
} from "./live-object.js";

export interface CacheOptions {
  readonly config: KubeConfig;
  readonly api: Pick<KubeApi, "list">;
  /** Something that a cluster's wish or picture is made from may have changed. */
  readonly onChange: (key: ClusterKey) => void;
  /** A watch broke and is begun anew, or the API server does not answer. */
  readonly onTrouble?: (kind: Kind, error: unknown) => void;
  /** From 0 to below 1, as Math.random. */
  readonly random: () => number;
}

const firstRestartMs = 500;
const longestRestartMs = 15_000;

/**
 * What an API server holds of our kinds, as far as its watches have told, and what we have written
 * ourselves. Watches that break are begun anew for ever; what happened meanwhile is in the list that a
 * new watch begins with.
 */
export class ObjectCache {
  private readonly objects = new Map<string, LiveObject>();
  private readonly byCluster = new Map<ClusterKey, Map<string, LiveObject>>();
  private readonly classes = new Map<string, Map<string, LiveObject>>();
  private readonly informers = new Map<Kind, ReturnType<typeof makeInformer<KubernetesObject>>>();
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
    for (const informer of this.informers.values()) void informer.stop();
  }

  /** Clusters that exist, and those that objects say they belong to. */
  keys(): ClusterKey[] {
    return [...this.byCluster.keys()];
  }

  clusterOf(key: ClusterKey): LiveCluster {
    const all = [...(this.byCluster.get(key)?.values() ?? [])];
    const [namespace = ""] = key.split("/");
    const cluster = all.find(({ kind }) => kind === "Cluster");
    return {
      key,
      ...(cluster !== undefined && { cluster }),
      members: all.filter(({ kind }) => kind !== "Cluster"),
      classes: [...(this.classes.get(namespace)?.values() ?? [])],
    };
  }

  /** What a write of ours was answered: the watch will tell the same, or newer, in a while. */
  accept(object: LiveObject): void {
    this.put({ ...object, apiVersion });
  }

  /** An object that is gone by our own doing, or by somebody's of whom no watch has told yet. */
  drop(object: LiveObject): void {
    this.remove(object);
  }

  private watch(kind: Kind): void {
    const path = `/apis/${apiGroup}/${apiVersionName}/${namesOf(kind).plural}`;
    let restartMs = firstRestartMs;
    const list = async () => {
      const listed = await this.options.api.list(kind);
      this.forgetMissing(kind, listed.items);
      this.synced.add(kind);
      restartMs = firstRestartMs;
      return listed as unknown as { items: KubernetesObject[] };
    };
    const informer = makeInformer<KubernetesObject>(this.options.config, path, list as never);
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
      this.options.onTrouble?.(kind, error);
      const pauseMs = restartMs * (0.5 + this.options.random() / 2);
      restartMs = Math.min(restartMs * 2, longestRestartMs);
      this.later(pauseMs, () => void informer.start());
    });
    this.informers.set(kind, informer);
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
  private forgetMissing(kind: Kind, items: readonly LiveObject[]): void {
    const listed = new Set(items.map(liveName));
    for (const [name, object] of this.objects) {
      if (object.kind === kind && !listed.has(name)) this.remove(object);
    }
  }

  private put(object: LiveObject): void {
    const name = liveName(object);
    const known = this.objects.get(name);
    if (known !== undefined && isNewer(known, object)) return;
    if (known?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    if (known !== undefined) this.unlink(known);
    this.objects.set(name, object);
    this.link(object);
    this.tell(object);
  }

  private remove(object: LiveObject): void {
    const name = liveName(object);
    const known = this.objects.get(name);
    if (known === undefined || known.metadata.uid !== object.metadata.uid) return;
    this.objects.delete(name);
    this.unlink(known);
    this.tell(known);
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
    for (const one of this.byCluster.keys()) {
      if (one.startsWith(`${namespace}/`)) this.options.onChange(one);
    }
  }
}

/** Versions of one API server's objects count upwards, so that older news can be told from newer. */
function isNewer(left: LiveObject, right: LiveObject): boolean {
  if (left.metadata.uid !== right.metadata.uid) return false;
  return BigInt(left.metadata.resourceVersion) > BigInt(right.metadata.resourceVersion);
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
