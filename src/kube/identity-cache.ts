import { isCapstanError } from "../api/error.js";
import { type IdentityKind, identityKinds } from "../api/identity-crd.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import type { NamedObject } from "../manifest/desired.js";
import type { KubeApi } from "./api.js";
import type { ClusterWideObject } from "./live-object.js";
import { LiveStore } from "./live-store.js";
import { statusOf } from "./requests.js";
import { SteadyInformer, type WatchMeans } from "./steady-informer.js";

/** What identities are read from: they themselves, and the labels of namespaces. */
export interface IdentitySource {
  /** In name order, as manifests are read. */
  objects(): readonly NamedObject[];
  labelsOf(namespace: string): Readonly<Record<string, string>>;
}

interface IdentityCacheOptions extends WatchMeans {
  readonly api: Pick<KubeApi, "listClusterWide">;
  readonly providers: readonly ProviderSpecs[];
  /** Which Clusters may name which credentials may be another matter than before. */
  readonly onChange: () => void;
  readonly onError?: (kind: string, error: unknown) => void;
}

const namespaces = { kind: "Namespace", apiVersion: "v1", plural: "namespaces" };

/**
 * The identities in an API server, as far as watches have told of them. An API server that does not serve them, or does
 * not show them, has none for us: Clusters that name one are refused then.
 */
export class IdentityCache implements IdentitySource {
  private readonly store: LiveStore<ClusterWideObject>;
  private readonly known = new Map<string, ClusterWideObject>();
  private readonly kinds: readonly IdentityKind[];
  private readonly synced = new Set<string>();
  private informers: readonly SteadyInformer<ClusterWideObject>[] = [];

  constructor(private readonly options: IdentityCacheOptions) {
    const kinds = identityKinds(options.providers);
    this.kinds = kinds.length === 0 ? [] : [...kinds, namespaces];
    this.store = new LiveStore(nameOf, ({ before, after }) => {
      if (after !== undefined) this.known.set(nameOf(after), after);
      else if (before !== undefined) this.known.delete(nameOf(before));
      if (isNews(before, after)) this.options.onChange();
    });
  }

  /** Whether each kind was listed at least once, or cannot be. */
  get isSynced(): boolean {
    return this.kinds.every(({ kind }) => this.synced.has(kind));
  }

  start(): void {
    this.informers = this.kinds.map((kind) => this.informerOf(kind));
    for (const informer of this.informers) informer.start();
  }

  stop(): void {
    for (const informer of this.informers) informer.stop();
  }

  objects(): readonly NamedObject[] {
    return [...this.known.values()]
      .filter(({ kind }) => kind !== namespaces.kind)
      .sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
      .map(({ apiVersion, kind, metadata: { name }, spec }) => ({
        name: `${kind} ${name}`,
        value: structuredClone({ apiVersion, kind, metadata: { name }, spec }),
      }));
  }

  labelsOf(namespace: string): Readonly<Record<string, string>> {
    return this.known.get(`${namespaces.kind} ${namespace}`)?.metadata.labels ?? {};
  }

  private informerOf(about: IdentityKind): SteadyInformer<ClusterWideObject> {
    const { config, random, silenceMs, api, onError } = this.options;
    const { kind, apiVersion, plural } = about;
    const root = apiVersion.includes("/") ? "apis" : "api";
    const named = (object: ClusterWideObject) => ({ ...object, apiVersion, kind });
    return new SteadyInformer<ClusterWideObject>(
      omitUndefined({
        config,
        random,
        silenceMs,
        path: `/${root}/${apiVersion}/${plural}`,
        list: () =>
          this.store.relist(
            () => api.listClusterWide(about),
            (one) => one.kind === kind,
          ),
        onOpen: () => void this.synced.add(kind),
        onPut: (object: ClusterWideObject) => this.store.put(named(object)),
        onRemove: (object: ClusterWideObject) => this.store.remove(named(object)),
        onError: (error: unknown) => {
          const status = isCapstanError(error) ? statusOf(error.cause) : 0;
          const isFirst = !this.synced.has(kind);
          if (status === 404 || status === 403) this.synced.add(kind);
          // Not everybody has installed them (404), which takes a moment to be served (429): it is asked time and again.
          const isExpected = status === 404 || (isFirst ? status === 429 : status === 403);
          if (!isExpected) onError?.(kind, error);
        },
      }),
    );
  }
}

function nameOf({ kind, metadata: { name } }: ClusterWideObject): string {
  return `${kind} ${name}`;
}

/** Namespaces change all the time, but for their labels. */
function isNews(before: ClusterWideObject | undefined, after: ClusterWideObject | undefined) {
  const factsOf = (one: ClusterWideObject | undefined) =>
    JSON.stringify([one?.spec, one?.metadata.labels]);
  return (after ?? before)?.kind !== namespaces.kind || factsOf(before) !== factsOf(after);
}
