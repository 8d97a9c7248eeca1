import { generateKeyPairSync } from "node:crypto";
import { type KeyedCertificate, newAuthority } from "./certificate.js";
import type { KeyAlgorithm } from "./key-pair.js";

/** A key pair as PEM: SubjectPublicKeyInfo and PKCS #8. The private one is a secret. */
interface PlainKeyPair {
  readonly publicKeyPem: string;
  readonly privateKeyPem: string;
}

/**
 * What every member of a cluster trusts. Made once for each life of a cluster, before its first host. Secret
 * as a whole. Source: docs/bootstrap.md#keys.
 */
export interface ClusterKeys {
  /** Signs what API servers, kubelets and users show each other. */
  readonly ca: KeyedCertificate;
  /** Signs what members of etcd and their clients show each other. */
  readonly etcd: KeyedCertificate;
  /** Signs what the API server shows to servers that extend it. */
  readonly frontProxy: KeyedCertificate;
  /** Signs the tokens of service accounts. */
  readonly serviceAccount: PlainKeyPair;
}

const authorityYears = 10;
/** So that a host whose clock is a little behind takes them. */
const clockSkewMs = 5 * 60_000;

/** New keys for a cluster. Random. */
export async function newClusterKeys(nowMs: number, algorithm: KeyAlgorithm): Promise<ClusterKeys> {
  const until = new Date(nowMs);
  until.setUTCFullYear(until.getUTCFullYear() + authorityYears);
  const validity = { fromMs: nowMs - clockSkewMs, untilMs: until.getTime() };
  const authority = (commonName: string) => newAuthority({ commonName, algorithm, validity });
  return {
    ca: await authority("kubernetes"),
    etcd: await authority("etcd-ca"),
    frontProxy: await authority("front-proxy-ca"),
    serviceAccount: newServiceAccountKeys(),
  };
}

/** RSA, since clients that check tokens of service accounts know it best. */
function newServiceAccountKeys(): PlainKeyPair {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return {
    publicKeyPem: publicKey.export({ type: "spki", format: "pem" }).toString(),
    privateKeyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}
