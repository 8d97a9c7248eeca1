import type { ClusterKeys } from "./cluster-keys.js";
import { type HostKeys, trustedAccountsPem, trustedPem } from "./key-ring.js";
import { type GivenKeys, givenKeys, type KeyPlaces } from "./given-keys.js";

/** Whose keys a Secret holds. */
interface KeyOwner {
  readonly namespace: string;
  /** metadata.name of the Cluster. */
  readonly name: string;
}

/** A Secret as somebody applies it. A secret as a whole, but for its metadata. */
export interface ClusterSecret {
  readonly apiVersion: "v1";
  readonly kind: "Secret";
  readonly metadata: KeyOwner & { readonly labels: Readonly<Record<string, string>> };
  readonly type: string;
  /** In base64. */
  readonly data: Readonly<Record<string, string>>;
}

/** What is read of any Secret. */
interface SecretContent {
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
}

/** Carried by every Secret of a cluster, its users' too: without, Cluster API does not look at it. */
export const secretLabel = "cluster.x-k8s.io/cluster-name";

/** What stands behind the cluster's name in the names of its Secrets. */
const purposes = {
  ca: "ca",
  etcd: "etcd",
  frontProxy: "proxy",
  serviceAccount: "sa",
} as const satisfies Record<keyof ClusterKeys, string>;
const kubeconfigPurpose = "kubeconfig";
const nameOfSecret = new RegExp(
  `^(.+)-(?:${[...Object.values(purposes), kubeconfigPurpose].join("|")})$`,
);

/**
 * A cluster's keys as Secrets in the layout of Cluster API, so that its tools find them. Secrets as a whole. Pure.
 * Source: https://cluster-api.sigs.k8s.io/tasks/certs/using-custom-certificates
 */
export function keySecrets(keys: HostKeys, owner: KeyOwner): ClusterSecret[] {
  const pairData = (name: "ca" | "etcd" | "frontProxy") => ({
    "tls.crt": trustedPem(keys, name),
    "tls.key": keys[name].privateKeyPem,
  });
  return [
    secret(owner, purposes.ca, pairData("ca")),
    secret(owner, purposes.etcd, pairData("etcd")),
    secret(owner, purposes.frontProxy, pairData("frontProxy")),
    secret(owner, purposes.serviceAccount, {
      "tls.crt": trustedAccountsPem(keys),
      "tls.key": keys.serviceAccount.privateKeyPem,
    }),
  ];
}

/** A kubeconfig as Cluster API keeps one of a cluster. A secret. Pure. */
export function kubeconfigSecret(text: string, owner: KeyOwner): ClusterSecret {
  return secret(owner, kubeconfigPurpose, { value: text });
}

/** The names of the Secrets that hold a cluster's keys. Pure. */
export function keySecretNames({ name }: Pick<KeyOwner, "name">): string[] {
  return Object.values(purposes).map((purpose) => `${name}-${purpose}`);
}

/** The name of the Secret that holds a cluster's kubeconfig. Pure. */
export function kubeconfigSecretName({ name }: Pick<KeyOwner, "name">): string {
  return `${name}-${kubeconfigPurpose}`;
}

/** The cluster by whose name a Secret is called in this layout; undefined for any other name. Pure. */
export function clusterOfSecret(secretName: string): string | undefined {
  return nameOfSecret.exec(secretName)?.[1];
}

/** The text of one member of a Secret; undefined without it. Pure. */
export function secretText(
  { data = {} }: Pick<SecretContent, "data">,
  member: string,
): string | undefined {
  const encoded = data[member];
  return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString();
}

/**
 * Somebody's own keys from Secrets of this layout, or all that is wrong with them; whatever is not there is left out.
 * `secrets` is not empty. Pure.
 */
export function keysInSecrets(
  secrets: readonly SecretContent[],
  owner: KeyOwner,
  nowMs: number,
): GivenKeys {
  const placesOf = (purpose: string): readonly [string, string] => {
    const secretName = `Secret ${owner.namespace}/${owner.name}-${purpose}`;
    return [`tls.crt of ${secretName}`, `tls.key of ${secretName}`];
  };
  const places: KeyPlaces = {
    ca: placesOf(purposes.ca),
    etcd: placesOf(purposes.etcd),
    frontProxy: placesOf(purposes.frontProxy),
    serviceAccount: placesOf(purposes.serviceAccount),
  };
  const texts = secrets.flatMap((one) => {
    const [open, secretPlace] = placesOf(one.metadata.name.slice(owner.name.length + 1));
    // What a Secret lacks is wrong with it: as a whole it is there.
    return [
      [open, secretText(one, "tls.crt") ?? ""],
      [secretPlace, secretText(one, "tls.key") ?? ""],
    ] as const;
  });
  return givenKeys(new Map(texts), places, nowMs);
}

function secret(
  owner: KeyOwner,
  purpose: string,
  texts: Readonly<Record<string, string>>,
): ClusterSecret {
  const { namespace, name } = owner;
  const encoded = Object.entries(texts).map(([key, text]): [string, string] => [
    key,
    Buffer.from(text).toString("base64"),
  ]);
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: `${name}-${purpose}`,
      namespace,
      labels: { [secretLabel]: name },
    },
    type: "cluster.x-k8s.io/secret",
    data: Object.fromEntries(encoded),
  };
}
