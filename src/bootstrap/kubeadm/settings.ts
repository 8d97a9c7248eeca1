import type { KeyAlgorithm } from "../../api/key-algorithm.js";
import type { KubeadmPatch } from "../../api/kubeadm-patch.js";
import type { WrittenMachineSpec } from "../../api/types.js";
import type { ApiEndpoint } from "../../provider/port.js";

/** "api.example.org:6443", "[fd00::1]:6443": an address with colons stands in brackets before its port. Pure. */
export function endpointText({ host, port }: ApiEndpoint): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** What the configuration of every host of a cluster is made from. */
export interface ClusterSettings {
  /** metadata.name of the Cluster. */
  readonly name: string;
  readonly endpoint: ApiEndpoint;
  readonly serviceCidrs: readonly string[];
  readonly podCidrs: readonly string[];
  readonly serviceDomain: string;
  /** Of the keys that kubeadm makes for its components, as of those of the cluster. */
  readonly keyAlgorithm: KeyAlgorithm;
  /** Beside the endpoint: names and addresses that people use for the API server. */
  readonly extraSans?: readonly string[];
  /** A controller of the cloud tells the nodes' addresses and provider ids. */
  readonly hasCloudController?: boolean;
  /** The user's own, for the members of the control plane. */
  readonly patch?: KubeadmPatch["clusterConfiguration"];
}

type Taint = NonNullable<WrittenMachineSpec["taints"]>[number];

/** A text, or what prints it on the host: a command for sh, whose output is one line. */
export type HostText = string | { readonly command: string };

/** What one host's configuration is made from. */
export interface NodeSettings {
  /** Of the Node. */
  readonly name: HostText;
  /** Where its API server listens; of workers nobody asks. */
  readonly address: HostText;
  /** Of its kubeadm, and of the control plane that runs on it: a semantic version without "v". */
  readonly kubernetesVersion: string;
  /** Of its kubelet; absent: the same. */
  readonly kubeletVersion?: string;
  readonly criSocket: string;
  /** Those that a kubelet may give its own Node. */
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** Whether pods may run on a control-plane member. */
  readonly isSchedulable: boolean;
  /** providerID of the Node; absent: a controller of the cloud tells it. */
  readonly providerId?: HostText;
  /** Arguments of the kubelet, over our own. */
  readonly kubeletArgs?: Readonly<Record<string, string>>;
  /** Members of a KubeletConfiguration for this host alone, over those that the cluster's hosts share. */
  readonly kubeletConfiguration?: Readonly<Record<string, unknown>>;
  /** Arguments of the controller manager on this host alone, over those of the cluster. */
  readonly controllerManagerArgs?: Readonly<Record<string, string>>;
  /** Names of kubeadm's checks that may fail on this host: "SystemVerification". */
  readonly ignorePreflightErrors?: readonly string[];
  readonly imagePullPolicy?: string;
  /** The registry that the control plane's images come from, and so the pause image of each host; absent: kubeadm's default. */
  readonly imageRepository?: string;
}

/** By what a host finds the control plane and knows it again. */
export interface JoinSettings {
  /** "abcdef.0123456789abcdef". A secret. */
  readonly token: string;
  /** `publicKeyHash` of each authority that may have signed the API server's certificate: never none. */
  readonly caCertHashes: readonly string[];
}
