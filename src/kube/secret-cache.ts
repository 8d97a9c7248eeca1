import { omitUndefined } from "../api/omit-undefined.js";
import { clusterOfSecret, secretLabel } from "../bootstrap/certificates/secrets.js";
import type { KubeApi } from "./api.js";
import { type LiveSecret, secretNameOf } from "./cluster-secrets.js";
import type { ClusterKey } from "./live-object.js";
import { type LiveChange, LiveStore } from "./live-store.js";
import { SteadyInformer, type WatchMeans } from "./steady-informer.js";

interface SecretCacheOptions extends WatchMeans {
  readonly api: Pick<KubeApi, "listSecrets">;
  /** A Secret by whose name a cluster's keys or kubeconfig go is another than before. */
  readonly onChange: (key: ClusterKey) => void;
  readonly onError?: (error: unknown) => void;
}

/** The Secrets of clusters in an API server, as far as a watch and our own writes have told of them. */
export class SecretCache {
  private readonly secrets = new LiveStore<LiveSecret>(secretNameOf, (change) =>
    this.changed(change),
  );
  private informer: SteadyInformer<LiveSecret> | undefined;
  private synced = false;

  constructor(private readonly options: SecretCacheOptions) {}

  /** Whether they were listed at least once: before, what is missing means nothing. */
  get isSynced(): boolean {
    return this.synced;
  }

  start(): void {
    const { config, random, silenceMs, api, onError } = this.options;
    this.informer = new SteadyInformer<LiveSecret>(
      omitUndefined({
        config,
        random,
        silenceMs,
        path: "/api/v1/secrets",
        label: secretLabel,
        list: () =>
          this.secrets.relist(
            () => api.listSecrets(),
            () => true,
          ),
        onOpen: () => {
          this.synced = true;
        },
        onPut: (secret: LiveSecret) => this.accept(secret),
        onRemove: (secret: LiveSecret) => this.drop(secret),
        onError: (error: unknown) => onError?.(error),
      }),
    );
    this.informer.start();
  }

  stop(): void {
    this.informer?.stop();
  }

  secretOf(namespace: string, name: string): LiveSecret | undefined {
    return this.secrets.get(`${namespace}/${name}`);
  }

  /** What a write of ours was answered: the watch will tell the same, or newer, in a while. */
  accept(secret: LiveSecret): void {
    this.secrets.put(secret);
  }

  /** One that is gone, of which no watch has told yet. */
  drop(secret: LiveSecret): void {
    this.secrets.remove(secret);
  }

  private changed({ before, after }: LiveChange<LiveSecret>): void {
    const { namespace = "", name = "" } = (after ?? before)?.metadata ?? {};
    const cluster = clusterOfSecret(name);
    if (cluster !== undefined) this.options.onChange(`${namespace}/${cluster}`);
  }
}
