import { clusterNetwork } from "../support/manifests.js";
import { madeByCloud } from "./vault-provider.js";

/** What is planted, by the place where a user, or the cloud, has put it. */
export const planted = {
  "a secret field": "planted-password-5f31",
  "the same field, changed": "planted-second-password-88a0",
  "the same field, changed in the cloud": "planted-drifted-password-10d7",
  "a variable of the environment": "planted-by-variable-6be2",
  "an annotation of the Cluster": "planted-cluster-note-9c1e",
  "an annotation of a node": "planted-node-note-3d55",
  "a file of a host": "planted-file-content-0aa4",
  "a command of a host": "planted-command-word-e671",
  "a template of user data": "planted-template-word-b20f",
  "an output of a shared resource": madeByCloud.storeKey,
  "an output of a host": madeByCloud.adminToken,
} as const;

const vaultApi = "vault.example.dev/v1alpha1";

interface Wanted {
  readonly password?: string;
  readonly note?: string;
  readonly annotation?: string;
}

/** A Cluster of the provider that talks, with one machine; what is not said is planted. */
export function vaultObjects({ password, note = "", annotation }: Wanted = {}): object[] {
  const labels = { "cluster.k8s.io/cluster-name": "vaulted" };
  return [
    {
      apiVersion: "cluster.k8s.io/v1alpha1",
      kind: "Cluster",
      metadata: {
        name: "vaulted",
        annotations: { "example.com/note": planted["an annotation of the Cluster"] },
      },
      spec: {
        clusterNetwork: clusterNetwork(),
        providerSpec: { value: { apiVersion: vaultApi, kind: "VaultClusterProviderSpec" } },
      },
    },
    {
      apiVersion: "cluster.k8s.io/v1alpha1",
      kind: "Machine",
      metadata: { name: "cp-0", labels },
      spec: {
        metadata: {
          annotations: { "example.com/key": annotation ?? planted["an annotation of a node"] },
        },
        versions: { kubelet: "1.34.2", controlPlane: "1.34.2" },
        providerSpec: {
          value: {
            apiVersion: vaultApi,
            kind: "VaultMachineProviderSpec",
            password: password ?? planted["a secret field"],
            note,
            bootstrap: {
              files: [{ path: "/etc/secret.conf", content: planted["a file of a host"] }],
              preKubeadmCommands: [`login ${planted["a command of a host"]}`],
              template: `#cloud-config\nruncmd:\n  - echo ${planted["a template of user data"]}\n  - {{ bootstrapScript }}\n`,
            },
          },
        },
      },
    },
  ];
}

/** A value as it is, and as it would be found in base64, wherever it begins. */
const formsOf = (value: string): string[] => [
  value,
  ...[0, 1, 2].map((shift) =>
    Buffer.from("x".repeat(shift) + value)
      .toString("base64")
      .slice(4, -4),
  ),
];

/** Where each planted value was found; nothing is as it shall be. */
export function foundIn(text: string, where: string): string[] {
  return Object.entries(planted).flatMap(([place, value]) =>
    formsOf(value).some((form) => text.includes(form)) ? [`${place}: in ${where}`] : [],
  );
}
