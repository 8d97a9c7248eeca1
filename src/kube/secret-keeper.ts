import { omitUndefined } from "../api/omit-undefined.js";
import { recordedKeys } from "../records/recorded-keys.js";
import { type KeyedCertificate, validityOf } from "../bootstrap/certificates/certificate.js";
import {
  type ClusterSecret,
  keySecrets,
  kubeconfigSecret,
  kubeconfigSecretName,
  secretText,
} from "../bootstrap/certificates/secrets.js";
import {
  type AdminAccess,
  adminCertificateIn,
  adminKubeconfig,
  isRenewalDue,
  newAdminCertificate,
} from "../bootstrap/kubeconfig/admin-kubeconfig.js";
import type { Clock, InfrastructureProvider } from "../provider/port.js";
import type { PriorState } from "../records/prior-state.js";
import { recordedServer } from "../records/recorded-server.js";
import {
  authorityExpiries,
  type CertificateExpiry,
  type CertificateReport,
  expiryOf,
} from "../source/certificate-report.js";
import type { KubeApi } from "./api.js";
import {
  isConflicting,
  isOwned,
  type LiveSecret,
  secretNameOf,
  type SecretWrite,
  secretWrites,
} from "./cluster-secrets.js";
import { type ClusterKey, isDeleting, type LiveObject } from "./live-object.js";
import type { SecretCache } from "./secret-cache.js";

interface SecretKeeperOptions {
  readonly api: Pick<KubeApi, "readSecret" | "writeSecret">;
  readonly cache: SecretCache;
  readonly clock: Pick<Clock, "now">;
}

/** What a kubeconfig was found to hold, by an authority. A secret. */
interface JudgedKubeconfig {
  readonly text: string;
  readonly authorityPem: string;
  readonly certificate?: KeyedCertificate;
}

/** A cluster whose Secrets are kept: its object, its records, and what its provider says of these. */
export interface KeptCluster {
  readonly cluster: LiveObject;
  readonly records: PriorState;
  readonly provider: Pick<InfrastructureProvider, "apiEndpoints"> | undefined;
}

/** A write that somebody else was faster with is decided anew so often. */
const mostRounds = 4;

/**
 * Keeps the keys and the kubeconfig of clusters as Secrets in Cluster API's layout. The records say what they hold; a
 * Secret that we have not made is never written. Source: docs/bootstrap.md#secrets.
 */
export class SecretKeeper {
  /** Certificates of kubeconfigs that are not written yet. */
  private readonly issued = new Map<ClusterKey, KeyedCertificate>();
  /** Of kubeconfigs in Secrets: every status asks, and to judge one takes longer than all else of a status. */
  private readonly judged = new Map<ClusterKey, JudgedKubeconfig>();

  constructor(private readonly options: SecretKeeperOptions) {}

  /** Writes what differs, and nothing of a Cluster that is being deleted. Throws API_SERVER. */
  async keep(kept: KeptCluster): Promise<void> {
    const access = accessOf(kept);
    if (access !== undefined && this.needsCertificate(kept, access)) {
      this.issued.set(keyOf(kept), await newAdminCertificate(access, this.options.clock.now()));
    }
    for (let round = 0; round < mostRounds; round += 1) {
      const writes = this.missing(kept);
      if (writes.length === 0) break;
      for (const write of writes) await this.carryOut(write);
    }
    if (this.isKept(kept)) this.issued.delete(keyOf(kept));
  }

  /** Whether `keep` would have nothing to do. */
  isKept(kept: KeptCluster): boolean {
    const access = accessOf(kept);
    if (access !== undefined && this.needsCertificate(kept, access)) return false;
    return this.missing(kept).length === 0;
  }

  /** Until when what the Secrets hold counts, and which of them are somebody else's. */
  reportOf(kept: KeptCluster, nowMs: number): CertificateReport {
    const { cluster, records } = kept;
    const access = accessOf(kept);
    const live = this.kubeconfigOf(cluster);
    const certificate = access && this.certificateIn(cluster, access);
    const conflicting = this.wantedOf(kept).filter((wanted) =>
      isConflicting(wanted, this.liveOf(wanted), cluster),
    );
    // A kubeconfig without a certificate of ours is not held against one: there is none.
    const isOthers = access !== undefined && certificate === undefined && live !== undefined;
    const others = isOthers && !isOwned(live, cluster) ? [live] : [];
    return {
      expiries: [
        ...authorityExpiries(recordedKeys(records), nowMs),
        ...(certificate === undefined ? [] : [kubeconfigExpiry(certificate, nowMs)]),
      ],
      conflicts: [...new Set([...conflicting, ...others].map(secretNameOf))],
    };
  }

  private missing(kept: KeptCluster): SecretWrite[] {
    const { cluster } = kept;
    if (isDeleting(cluster)) return [];
    return this.wantedOf(kept).flatMap((wanted) =>
      secretWrites(wanted, this.liveOf(wanted), cluster),
    );
  }

  private wantedOf(kept: KeptCluster): ClusterSecret[] {
    const { cluster, records } = kept;
    const keys = recordedKeys(records);
    if (keys === undefined) return [];
    const { namespace, name } = cluster.metadata;
    const owner = { namespace, name };
    const access = accessOf(kept);
    const certificate =
      access && (this.issued.get(keyOf(kept)) ?? this.certificateIn(cluster, access));
    const secrets = keySecrets(keys, owner);
    if (access === undefined || certificate === undefined) return secrets;
    return [...secrets, kubeconfigSecret(adminKubeconfig(access, certificate), owner)];
  }

  /** Whether the kubeconfig is ours to make and its certificate is not there, or not for long. */
  private needsCertificate({ cluster }: KeptCluster, access: AdminAccess): boolean {
    const { clock } = this.options;
    const nowMs = clock.now();
    const live = this.kubeconfigOf(cluster);
    const isOurs = live === undefined || isOwned(live, cluster);
    const canIssue = validityOf(access.keys.ca.certificatePem).untilMs > nowMs;
    if (!isOurs || !canIssue || isDeleting(cluster)) return false;
    const known = this.issued.get(keyOf({ cluster })) ?? this.certificateIn(cluster, access);
    return known === undefined || isRenewalDue(known, access, nowMs);
  }

  /** The certificate in the Secret's kubeconfig, if it is one of the cluster's administrators. */
  private certificateIn(cluster: LiveObject, access: AdminAccess): KeyedCertificate | undefined {
    const live = this.kubeconfigOf(cluster);
    const text = live && secretText(live, "value");
    if (text === undefined) return undefined;
    const authorityPem = access.keys.ca.certificatePem;
    const key = keyOf({ cluster });
    const known = this.judged.get(key);
    if (known?.text === text && known.authorityPem === authorityPem) return known.certificate;
    const certificate = adminCertificateIn(text, access);
    this.judged.set(key, omitUndefined({ text, authorityPem, certificate }));
    return certificate;
  }

  /** Lets go of what is known of a cluster that is no more. */
  forget(key: ClusterKey): void {
    this.issued.delete(key);
    this.judged.delete(key);
  }

  private kubeconfigOf({ metadata }: LiveObject): LiveSecret | undefined {
    return this.options.cache.secretOf(metadata.namespace, kubeconfigSecretName(metadata));
  }

  private liveOf({ metadata }: ClusterSecret): LiveSecret | undefined {
    return this.options.cache.secretOf(metadata.namespace, metadata.name);
  }

  /** One write, after which the cache knows what the API server holds now. */
  private async carryOut(write: SecretWrite): Promise<void> {
    const { api, cache } = this.options;
    const { namespace, name } = (write.kind === "create" ? write.secret : write.on).metadata;
    const result = await api.writeSecret(write);
    const secret =
      result.kind === "written"
        ? result.object
        : result.kind === "conflict"
          ? await api.readSecret({ namespace, name })
          : undefined;
    if (secret !== undefined) cache.accept(secret);
    else if (write.kind === "patch") cache.drop(write.on);
  }
}

/** Undefined while nobody knows where the API server answers, and of a cluster without keys. */
function accessOf({ cluster, records, provider }: KeptCluster): AdminAccess | undefined {
  const keys = recordedKeys(records);
  const server = recordedServer(records, provider);
  if (keys === undefined || server === undefined) return undefined;
  return { name: cluster.metadata.name, server, keys };
}

function kubeconfigExpiry({ certificatePem }: KeyedCertificate, nowMs: number): CertificateExpiry {
  return expiryOf("kubeconfig", validityOf(certificatePem).untilMs, nowMs);
}

function keyOf({ cluster }: Pick<KeptCluster, "cluster">): ClusterKey {
  return `${cluster.metadata.namespace}/${cluster.metadata.name}`;
}
