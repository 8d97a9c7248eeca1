import type { ClusterKeys } from "../../bootstrap/certificates/cluster-keys.js";
import type { Clock, Identity } from "../../provider/port.js";

/**
 * Tokens with which hosts join a cluster, kept by its own API server. Every call throws API_SERVER, retryable where
 * the same may go well later.
 */
export interface TokenStore {
  /** A new token for one host. A secret. */
  issue(host: Identity, expiresAtMs: number): Promise<string>;
  /** Tokens of the host that are there are good for longer. */
  extend(host: Identity, expiresAtMs: number): Promise<void>;
  /** No token of the host is good any more. Success also when there is none. */
  revoke(host: Identity): Promise<void>;
}

/** A cluster's own API server, and what it trusts. */
export interface WorkloadAccess {
  /** "default/prod". */
  readonly cluster: string;
  /** "https://10.0.0.1:6443". */
  readonly server: string;
  readonly keys: ClusterKeys;
  readonly clock: Clock;
}

export type OpenTokens = (access: WorkloadAccess) => Promise<TokenStore>;
