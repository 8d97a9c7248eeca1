import { digestOf } from "../../api/digest.js";
import { firstStage, type KeyStage, numbersIn } from "../../api/key-stage.js";
import type { KeyedCertificate } from "../certificates/certificate.js";
import type { ClusterKeys } from "../certificates/cluster-keys.js";
import { publicKeyHash } from "../certificates/certificate.js";
import { type HostKeys, trustedKeys } from "../certificates/key-ring.js";
import type { HostRole } from "./host-bootstrap.js";
import type { BootstrapKind } from "./member-role.js";

/** What a host is given that nobody else may see, and by what it knows the control plane. */
export interface HostSecrets {
  readonly keys: HostKeys;
  /** A bootstrap token, "abcdef.0123456789abcdef". */
  readonly token: string;
  readonly caCertHashes: readonly string[];
}

/** What a host becomes, with as much of the secrets as it needs for that. Pure. */
export function roleWith(
  kind: BootstrapKind,
  { keys, token, caCertHashes }: HostSecrets,
): HostRole {
  const join = { token, caCertHashes };
  switch (kind) {
    case "init":
      return { kind, keys, token };
    case "joinControlPlane":
      return { kind, keys, join };
    case "joinWorker":
      return { kind, join };
  }
}

/** By what a host that joins knows an API server that was made with these keys, or with those that they trust. Pure. */
export function caCertHashesOf(keys: HostKeys): string[] {
  return trustedKeys(keys).map(({ ca }) => publicKeyHash(ca.certificatePem));
}

const hidden = (what: string) => `(${what}: not shown)\n`;
const unknown = (what: string) => `(${what}: made with the cluster)\n`;

/** Secrets as they may be shown: certificates as they are, where there are any yet, and no key or token. Pure. */
export function maskedSecrets(keys?: HostKeys): HostSecrets {
  const pair = (what: string, own?: KeyedCertificate): KeyedCertificate => ({
    certificatePem: own?.certificatePem ?? unknown(`certificate of ${what}`),
    privateKeyPem: hidden(`key of ${what}`),
  });
  const accounts = "service accounts";
  return {
    keys: {
      ca: pair("Kubernetes", keys?.ca),
      etcd: pair("etcd", keys?.etcd),
      frontProxy: pair("the front proxy", keys?.frontProxy),
      serviceAccount: {
        publicKeyPem: keys?.serviceAccount.publicKeyPem ?? unknown(`public key of ${accounts}`),
        privateKeyPem: hidden(`key of ${accounts}`),
      },
    },
    token: "(token: made with the host)",
    caCertHashes:
      keys === undefined
        ? ["(hash of the cluster's key: made with the cluster)"]
        : caCertHashesOf(keys),
  };
}

/** Bytes of what is encoded in each PEM text, for keys on P-256 and RSA with 2048 bits: a little more than they have. */
const certificateBytes = 480;
const ecKeyBytes = 140;
const rsaKeyBytes = 1_220;
const rsaPublicKeyBytes = 294;

/**
 * Secrets of the size of real ones at a stage, which gzip makes as little smaller as those. The same each time. Pure.
 */
export function sizedSecrets(stage: KeyStage = firstStage): HostSecrets {
  const [first, ...others] = numbersIn(stage).map(sizedKeys);
  if (first === undefined) throw new Error("a stage has keys that sign");
  return {
    keys: others.length === 0 ? first : { ...first, alsoTrusted: others },
    token: `${digestOf("token id", 6)}.${digestOf("token", 16)}`,
    caCertHashes: numbersIn(stage).map((number) => `sha256:${digestOf(["ca", number], 64)}`),
  };
}

function sizedKeys(number: number): ClusterKeys {
  const pair = (name: string): KeyedCertificate => ({
    certificatePem: pemLike("CERTIFICATE", `${name} certificate ${number}`, certificateBytes),
    privateKeyPem: pemLike("PRIVATE KEY", `${name} key ${number}`, ecKeyBytes),
  });
  return {
    ca: pair("ca"),
    etcd: pair("etcd"),
    frontProxy: pair("front proxy"),
    serviceAccount: {
      publicKeyPem: pemLike("PUBLIC KEY", `public ${number}`, rsaPublicKeyBytes),
      privateKeyPem: pemLike("PRIVATE KEY", `private ${number}`, rsaKeyBytes),
    },
  };
}

function pemLike(label: string, name: string, bytes: number): string {
  const digestBytes = 32;
  const digests = Array.from({ length: Math.ceil(bytes / digestBytes) }, (_, index) =>
    digestOf([name, index], digestBytes * 2),
  );
  const content = Buffer.from(digests.join(""), "hex").subarray(0, bytes).toString("base64");
  const lines = content.match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
