import { readDesired } from "../../src/manifest/desired.js";
import { type Diagnostic, diagnosticText } from "../../src/manifest/diagnostic.js";
import { localProvider } from "../support/manifests.js";

// Objects as users write them, so that lines and columns can be told.

export const cluster = `apiVersion: cluster.k8s.io/v1alpha1
kind: Cluster
metadata: { name: prod }
spec:
  clusterNetwork:
    services: { cidrBlocks: [10.96.0.0/12] }
    pods: { cidrBlocks: [192.168.0.0/16] }
    serviceDomain: cluster.local
  providerSpec:
    value: { apiVersion: local.capstan.dev/v1alpha1, kind: LocalClusterProviderSpec }
`;
export const machine = `apiVersion: cluster.k8s.io/v1alpha1
kind: Machine
metadata: { name: m, labels: { cluster.k8s.io/cluster-name: prod } }
spec:
  versions: { kubelet: 1.34.2 }
  providerSpec:
    value: { apiVersion: local.capstan.dev/v1alpha1, kind: LocalMachineProviderSpec }
`;
export const set = `apiVersion: cluster.k8s.io/v1alpha1
kind: MachineSet
metadata: { name: s, labels: { cluster.k8s.io/cluster-name: prod } }
spec:
  selector: { matchLabels: { set: s } }
  template:
    metadata: { labels: { set: s } }
    spec:
      providerSpec:
        value: { apiVersion: local.capstan.dev/v1alpha1, kind: LocalMachineProviderSpec }
`;

/** Of one file, f.yaml. */
export function read(...texts: string[]) {
  return readDesired([{ file: "f.yaml", text: texts.join("---\n") }], [localProvider()]);
}

/** The code of each diagnostic, and its text. */
export function toldOf({ diagnostics }: { readonly diagnostics: readonly Diagnostic[] }): string {
  return diagnostics.map((one) => `${one.code} ${diagnosticText(one)}`).join("\n");
}
