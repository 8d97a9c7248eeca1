import { generateKeyPair } from "node:crypto";
import { promisify } from "node:util";
import { type KeyedCertificate, newAuthority } from "./certificate.js";
import type { KeyAlgorithm } from "../../api/key-algorithm.js";

/** A key pair as PEM: SubjectPublicKeyInfo and PKCS #8. The private one is a secret. */
export interface PlainKeyPair {
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
export const clockSkewMs = 5 * 60_000;

/** New keys for a cluster. Random. */
export async function newClusterKeys(nowMs: number, algorithm: KeyAlgorithm): Promise<ClusterKeys> {
  const until = new Date(nowMs);
  until.setUTCFullYear(until.getUTCFullYear() + authorityYears);
  const validity = { fromMs: nowMs - clockSkewMs, untilMs: until.getTime() };
  const authority = (commonName: string) => newAuthority({ commonName, algorithm, validity });
  const [ca, etcd, frontProxy, serviceAccount] = await Promise.all([
    authority("kubernetes"),
    authority("etcd-ca"),
    authority("front-proxy-ca"),
    newServiceAccountKeys(),
  ]);
  return { ca, etcd, frontProxy, serviceAccount };
}

/** RSA, since clients that check tokens of service accounts know it best. */
async function newServiceAccountKeys(): Promise<PlainKeyPair> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return { publicKeyPem: publicKey, privateKeyPem: privateKey };
}
