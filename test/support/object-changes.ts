import assert from "node:assert/strict";
import type { KubeConfig, KubernetesObject } from "@kubernetes/client-node";
import { SteadyWatch } from "../../src/kube/steady-watch.js";
import { until } from "../scenario/until.js";

/** What is watched. */
export interface WatchedObjects {
  /** "/api/v1/nodes". */
  readonly path: string;
  /** The objects as they are now. */
  readonly list: () => Promise<readonly KubernetesObject[]>;
}

export interface ObjectChange {
  /** One of WatchedObjects. */
  readonly path: string;
  readonly isGone: boolean;
  readonly object: KubernetesObject;
}

/** Whoever asks again and again misses what is there for a moment only; the API server tells each change. */
export class ObjectChanges {
  private readonly changes: ObjectChange[] = [];
  private readonly watches: AbortController[] = [];
  private readonly ends: unknown[] = [];

  private constructor(private readonly watched: readonly WatchedObjects[]) {}

  static async begin(
    config: KubeConfig,
    watched: readonly WatchedObjects[],
  ): Promise<ObjectChanges> {
    const begun = new ObjectChanges(watched);
    const watch = new SteadyWatch(config, {
      silenceMs: 600_000,
      onOpen: () => undefined,
      onLost: () => undefined,
    });
    for (const { path } of watched) {
      const take = (type: string, object: KubernetesObject) =>
        begun.changes.push({ path, isGone: type === "DELETED", object });
      const end = (error: unknown) => begun.ends.push(error);
      begun.watches.push(await watch.watch(path, {}, take, end));
    }
    return begun;
  }

  /** Ends once it was told everything up to now: first the objects that there were, then each change in its order. */
  async end(): Promise<readonly ObjectChange[]> {
    await until("the watches have told everything", async () => {
      assert.deepEqual(this.ends, [], "a watch has ended");
      const lists = await Promise.all(this.watched.map(({ list }) => list()));
      return versionsOf(lists.flat()) === versionsOf(this.last());
    });
    for (const watch of this.watches) watch.abort();
    return this.changes.toSorted((a, b) => versionOf(a.object) - versionOf(b.object));
  }

  /** The objects that there are after all changes so far. */
  private last(): KubernetesObject[] {
    const last = new Map(this.changes.map((one) => [one.object.metadata?.uid, one]));
    return [...last.values()].filter(({ isGone }) => !isGone).map(({ object }) => object);
  }
}

/** One counter for all objects of the API server. */
function versionOf({ metadata }: KubernetesObject): number {
  return Number(metadata?.resourceVersion);
}

function versionsOf(objects: readonly KubernetesObject[]): string {
  return objects.map(versionOf).sort().join();
}
