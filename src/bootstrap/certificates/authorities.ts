import { createPublicKey, X509Certificate } from "node:crypto";
import { keyHash, publicKeyHash, validityOf } from "./certificate.js";
import type { ClusterKeys } from "./cluster-keys.js";

/** The certificates of a cluster that sign others. */
export const authorityNames = ["ca", "etcd", "frontProxy"] as const;

/** What may be told of a cluster's keys: nothing of it is secret. */
interface AuthorityFacts {
  readonly name: (typeof authorityNames)[number];
  readonly signs: string;
  readonly commonName: string;
  /** "ECDSA-P256", "RSA-2048". */
  readonly algorithm: string;
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number;
  /** `publicKeyHash`: by which a host that joins knows the control plane. */
  readonly hash: string;
}

const signs: Readonly<Record<AuthorityFacts["name"], string>> = {
  ca: "API servers, kubelets and users",
  etcd: "members of etcd and their clients",
  frontProxy: "servers that extend the API server",
};

/** The authorities among a cluster's keys. Pure. Throws an Error for a text that is no certificate. */
export function authorityFacts(keys: ClusterKeys): AuthorityFacts[] {
  return authorityNames.map((name) => {
    const { certificatePem } = keys[name];
    const { subject, publicKey } = new X509Certificate(certificatePem);
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = publicKey;
    const bits = String(details?.modulusLength ?? "");
    return {
      name,
      signs: signs[name],
      commonName: /^CN=(.*)$/m.exec(subject)?.[1] ?? subject,
      algorithm: type === "rsa" ? `RSA-${bits}` : "ECDSA-P256",
      expiresAtMs: validityOf(certificatePem).untilMs,
      hash: publicKeyHash(certificatePem),
    };
  });
}

/** Of the key that checks tokens of service accounts: it belongs to no certificate and does not expire. Pure. */
export function serviceAccountHash({ serviceAccount }: ClusterKeys): string {
  return keyHash(createPublicKey(serviceAccount.publicKeyPem));
}
