import type { ClusterKeys } from "../bootstrap/certificates/cluster-keys.js";
import type { InfrastructureProvider } from "../provider/port.js";
import type { CertificateReport } from "./certificate-report.js";
import type { ClusterView } from "./cluster-view.js";
import type { Intent } from "./intent.js";

/** Where clusters are described, and where people look how they are: files, or an API server. */
export interface ClusterSource {
  /** Owner of the stacks of its clusters: another source's are left alone. */
  readonly owner: string;
  /** "<namespace>/<name>" of every cluster that it knows of. */
  keys(): readonly string[];
  /** What is asked of a cluster now. `isDecision`: what is shown from now on is about this. */
  intentOf(key: string, isDecision?: boolean): Intent;
  /** Before the first call to a cloud: from now on the cluster cannot go without us. Throws API_SERVER. */
  claim(key: string): Promise<void>;
  /** Shows what is not shown yet. Throws API_SERVER. */
  show(key: string, view: ClusterView, provider: InfrastructureProvider): Promise<void>;
  /** What is asked for is what is recorded, and nothing is to be done. */
  noteKept(key: string): void;
  /** Whether `show` would have nothing to do. */
  isShown(key: string, view: ClusterView, provider: InfrastructureProvider): boolean;
  /**
   * Keys of their own that users have put where the objects are, for a cluster that has none yet; undefined: none.
   * Throws INVALID_INPUT where they cannot be a cluster's, API_SERVER.
   */
  givenKeys(key: string): Promise<Partial<ClusterKeys> | undefined>;
  /** Until when certificates count, and what stands in the way of showing them. */
  certificatesOf(
    key: string,
    view: ClusterView,
    provider: InfrastructureProvider,
    nowMs: number,
  ): CertificateReport;
  /** Lets a cluster go of which nothing is left. Throws API_SERVER. */
  release(key: string): Promise<void>;
  /** Nothing speaks of a cluster any more: takes what it has left on objects of others. Throws API_SERVER. */
  forget(key: string): Promise<void>;
}
