import type { JsonObject } from "../../api/json.js";
import type { KeyedCertificate } from "./certificate.js";
import type { ClusterKeys } from "./cluster-keys.js";

/** Whose keys a Secret holds. */
interface KeyOwner {
  readonly namespace: string;
  /** metadata.name of the Cluster. */
  readonly name: string;
}

/**
 * A cluster's keys as Secrets in the layout of Cluster API, so that its tools find them. Secrets as a whole. Pure.
 * Source: https://cluster-api.sigs.k8s.io/tasks/certs/using-custom-certificates
 */
export function keySecrets(keys: ClusterKeys, owner: KeyOwner): JsonObject[] {
  const { publicKeyPem, privateKeyPem } = keys.serviceAccount;
  return [
    secret(owner, "ca", pairData(keys.ca)),
    secret(owner, "etcd", pairData(keys.etcd)),
    secret(owner, "proxy", pairData(keys.frontProxy)),
    secret(owner, "sa", { "tls.crt": publicKeyPem, "tls.key": privateKeyPem }),
  ];
}

/** A kubeconfig as Cluster API keeps one of a cluster. A secret. Pure. */
export function kubeconfigSecret(text: string, owner: KeyOwner): JsonObject {
  return secret(owner, "kubeconfig", { value: text });
}

function secret(owner: KeyOwner, purpose: string, data: Readonly<Record<string, string>>) {
  const { namespace, name } = owner;
  const encoded = Object.entries(data).map(([key, text]): [string, string] => [
    key,
    Buffer.from(text).toString("base64"),
  ]);
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: `${name}-${purpose}`,
      namespace,
      labels: { "cluster.x-k8s.io/cluster-name": name },
    },
    type: "cluster.x-k8s.io/secret",
    data: Object.fromEntries(encoded),
  };
}

function pairData({ certificatePem, privateKeyPem }: KeyedCertificate): Record<string, string> {
  return { "tls.crt": certificatePem, "tls.key": privateKeyPem };
}
