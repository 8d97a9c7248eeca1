import { digestOf } from "../api/digest.js";
import { CapstanError } from "../api/error.js";
import type { ClusterKeys } from "../bootstrap/certificates/cluster-keys.js";
import { type CertificateReport, noCertificates } from "../source/certificate-report.js";
import type { ClusterSource } from "../source/cluster-source.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import type { Clock, InfrastructureProvider } from "../provider/port.js";
import type { KubeApi, WriteResult } from "./api.js";
import type { ClusterView } from "../source/cluster-view.js";
import type { Intent } from "../source/intent.js";
import type { IdentitySource } from "./identity-cache.js";
import { intentOf } from "./live-intent.js";
import {
  type ClusterKey,
  type LiveCluster,
  type LiveObject,
  liveName,
  type ObjectName,
} from "./live-object.js";
import type { ObjectCache } from "./object-cache.js";
import { type ApiWrite, writeStages } from "./api-write.js";
import { claimOf } from "./claim.js";
import { releasedClasses } from "./machine-classes.js";
import { projectionOf } from "./projection.js";
import type { Redact } from "./redaction.js";
import { releaseOf } from "./release.js";
import type { Regarding } from "./event-names.js";
import { givenKeysOf, givenVersions } from "./given-secrets.js";
import type { SecretCache } from "./secret-cache.js";
import { type KeptCluster, SecretKeeper } from "./secret-keeper.js";
import { mapBounded } from "../provider/bounded.js";

interface SourceOptions {
  readonly api: Pick<KubeApi, "write" | "read" | "readSecret" | "writeSecret">;
  readonly cache: ObjectCache;
  readonly secrets: SecretCache;
  /** By which Clusters name credentials; none without. */
  readonly identities?: IdentitySource;
  readonly clock: Pick<Clock, "now">;
  readonly providers: readonly ProviderSpecs[];
  /** Names the API server, as the owner of stacks. */
  readonly owner: string;
  /** Takes secrets out of every status. */
  readonly redact: Redact;
}

/** Writes at once: an API server's fairness is not strained by one cluster. */
const writesAtATime = 4;
/** Sets need deployments, Machines need sets, statuses need all of them. */
const mostRounds = 6;

/** Clusters as objects in an API server: what they ask for, and what is shown of them. */
export class KubeSource implements ClusterSource {
  /** Generations that the last read of each cluster saw. */
  private readonly generations = new Map<ClusterKey, ReadonlyMap<string, number>>();

  private readonly secretKeeper: SecretKeeper;

  constructor(private readonly options: SourceOptions) {
    const { api, secrets: cache, clock } = options;
    this.secretKeeper = new SecretKeeper({ api, cache, clock });
  }

  get owner(): string {
    return this.options.owner;
  }

  keys(): ClusterKey[] {
    return this.options.cache.keys();
  }

  /** What is asked of a cluster now. `isDecision`: what follows is shown as of this generation. */
  intentOf(key: ClusterKey, isDecision = false): Intent {
    const live = this.options.cache.clusterOf(key);
    if (live.cluster === undefined) this.generations.delete(key);
    else if (isDecision) {
      const all = [live.cluster, ...live.members];
      this.generations.set(
        key,
        new Map(all.map((one) => [liveName(one), one.metadata.generation ?? 0])),
      );
    }
    return this.withGiven(intentOf(live, this.options.providers, this.options.identities), live);
  }

  /** Keys that a user puts beside the objects are a part of what is asked for. */
  private withGiven(intent: Intent, { cluster }: LiveCluster): Intent {
    const given = cluster === undefined ? [] : givenVersions(cluster, this.options.secrets);
    if (given.length === 0) return intent;
    return { ...intent, digest: digestOf([intent.digest, ...given], 16) };
  }

  /** An object as Events are about it, or else its Cluster; undefined for a Cluster that is gone. */
  regarding(key: ClusterKey, about?: ObjectName): Regarding | undefined {
    const { cluster, members } = this.options.cache.clusterOf(key);
    const member = members.find(
      (one) => one.kind === about?.kind && one.metadata.name === about.name,
    );
    const object = member ?? cluster;
    if (object === undefined) return undefined;
    const { apiVersion, kind, metadata } = object;
    const { namespace, name, uid } = metadata;
    return { apiVersion, kind, namespace, name, uid };
  }

  async claim(key: ClusterKey): Promise<void> {
    const isDone = await this.writeAll(() => claimOf(this.options.cache.clusterOf(key)));
    if (!isDone) throw overtaken("claim", key);
  }

  /**
   * Shows a cluster as it is, and nothing that is shown already. Throws API_SERVER; what was not written
   * is decided anew the next time, and `isShown` says whether that is needed.
   */
  async show(key: ClusterKey, view: ClusterView, provider: InfrastructureProvider): Promise<void> {
    const kept = this.keptOf(key, view, provider);
    try {
      if (kept !== undefined) await this.secretKeeper.keep(kept);
    } finally {
      await this.writeAll(() => this.missing(key, view, provider));
    }
  }

  noteKept(): void {
    // Objects that the server holds are where everybody looks for them.
  }

  isShown(key: ClusterKey, view: ClusterView, provider: InfrastructureProvider): boolean {
    const kept = this.keptOf(key, view, provider);
    if (kept !== undefined && !this.secretKeeper.isKept(kept)) return false;
    return this.missing(key, view, provider).length === 0;
  }

  async givenKeys(key: ClusterKey): Promise<Partial<ClusterKeys> | undefined> {
    const { cache, api, clock } = this.options;
    const { cluster } = cache.clusterOf(key);
    return cluster && givenKeysOf(cluster, api, clock.now());
  }

  certificatesOf(
    key: ClusterKey,
    view: ClusterView,
    provider: InfrastructureProvider,
    nowMs: number,
  ): CertificateReport {
    const kept = this.keptOf(key, view, provider);
    return kept === undefined ? noCertificates : this.secretKeeper.reportOf(kept, nowMs);
  }

  private keptOf(
    key: ClusterKey,
    { records }: ClusterView,
    provider: InfrastructureProvider,
  ): KeptCluster | undefined {
    const { cluster } = this.options.cache.clusterOf(key);
    return cluster && { cluster, records, provider };
  }

  private missing(
    key: ClusterKey,
    view: ClusterView,
    provider: InfrastructureProvider,
  ): ApiWrite[] {
    const known = this.generations.get(key);
    return projectionOf(this.options.cache.clusterOf(key), {
      view,
      provider,
      certificates: this.certificatesOf(key, view, provider, this.options.clock.now()),
      redact: this.options.redact,
      generationOf: (object: LiveObject) => known?.get(liveName(object)),
    });
  }

  /** Lets go of a cluster of which nothing is left: its members first, the Cluster last. */
  async release(key: ClusterKey): Promise<void> {
    const isDone = await this.writeAll(() => releaseOf(this.options.cache.clusterOf(key)));
    if (!isDone) throw overtaken("let go of", key);
  }

  async forget(key: ClusterKey): Promise<void> {
    this.secretKeeper.forget(key);
    await this.writeAll(() => releasedClasses(this.options.cache.clusterOf(key)));
  }

  /** Writes what is missing until nothing is; false when there is no end to it for now. */
  private async writeAll(missing: () => readonly ApiWrite[]): Promise<boolean> {
    for (let round = 0; round < mostRounds; round += 1) {
      const writes = missing();
      if (writes.length === 0) return true;
      await this.carryOutStages(writes);
    }
    return missing().length === 0;
  }

  /** Statuses are decided anew once objects have changed: some follow from what these hold. */
  private async carryOutStages(writes: readonly ApiWrite[]): Promise<void> {
    for (const stage of writeStages(writes)) {
      await mapBounded(stage, writesAtATime, (write) => this.carryOut(write));
      if (stage.some(({ kind }) => kind !== "status")) return;
    }
  }

  /** One write, after which the cache knows what the API server holds now. */
  private async carryOut(write: ApiWrite): Promise<void> {
    const { api, cache } = this.options;
    const on = write.kind === "create" ? write.object : write.on;
    const result = await api.write(write);
    // Somebody was faster: what they wrote is what has to be written over.
    const object = result.kind === "conflict" ? await api.read(on) : written(result);
    if (object !== undefined) cache.accept({ ...object, kind: on.kind });
    else if (write.kind !== "create") cache.drop(write.on);
  }
}

function written(result: WriteResult): LiveObject | undefined {
  return result.kind === "written" ? result.object : undefined;
}

function overtaken(verb: string, key: ClusterKey): CapstanError {
  return new CapstanError({
    code: "API_SERVER",
    source: "engine",
    subject: key,
    message: `cannot ${verb} Cluster ${key}: its objects are changed faster than they can be written`,
    hint: "it is tried again",
    retryable: true,
  });
}
