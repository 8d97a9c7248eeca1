import { issueCertificate, type KeyedCertificate, validityOf } from "./certificate.js";
import { clockSkewMs, type ClusterKeys } from "./cluster-keys.js";

/** Whom an API server is to take the bearer for, and for how long. */
interface UserRequest {
  readonly user: string;
  readonly groups: readonly string[];
  readonly ttlMs: number;
}

/** A certificate that a person or a program shows to an API server. */
export interface UserCertificate extends KeyedCertificate {
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number;
}

/**
 * A new key and certificate of a cluster's authority, as short-lived as asked for and never longer than the
 * authority itself. Random. An API server has no way to take one back, so it should not live long.
 */
export async function issueUserCertificate(
  { ca }: Pick<ClusterKeys, "ca">,
  { user, groups, ttlMs }: UserRequest,
  nowMs: number,
): Promise<UserCertificate> {
  const expiresAtMs = Math.min(nowMs + ttlMs, validityOf(ca.certificatePem).untilMs);
  const issued = await issueCertificate(ca, {
    commonName: user,
    organizations: groups,
    algorithm: "ECDSA-P256",
    usages: ["client"],
    validity: { fromMs: nowMs - clockSkewMs, untilMs: expiresAtMs },
  });
  return { ...issued, expiresAtMs };
}
