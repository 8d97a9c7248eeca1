import { asJson } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { withPatch } from "./patch.js";
import { minorOf } from "../../api/versions.js";
import { controlPlaneTaint } from "../../workload/node-marks.js";
import {
  type ClusterSettings,
  endpointText,
  type HostText,
  type JoinSettings,
  type NodeSettings,
} from "./settings.js";

/** One object of a kubeadm configuration, before it is text. */
export type KubeadmObject = Readonly<Record<string, unknown>> & {
  readonly apiVersion: string;
  readonly kind: string;
};

type KubeadmApi = "kubeadm.k8s.io/v1beta3" | "kubeadm.k8s.io/v1beta4";

/** The first minor whose kubeadm reads v1beta4, and the last that needs v1beta3 is before it. Source: kubeadm's release notes. */
const firstOfV1beta4 = 1031;

/** Which of its APIs the kubeadm of a Kubernetes version is written to. Pure. */
function kubeadmApiOf(kubernetesVersion: string): KubeadmApi {
  const minor = minorOf(kubernetesVersion) ?? firstOfV1beta4;
  return minor >= firstOfV1beta4 ? "kubeadm.k8s.io/v1beta4" : "kubeadm.k8s.io/v1beta3";
}

/** Stands in a configuration for what a command prints on the host. */
export type HostPlaceholder = "name" | "address" | "providerId";

/** "@capstan:name@": nothing that kubeadm would take for a value. Pure. */
export function placeholderText(what: HostPlaceholder): string {
  return `@capstan:${what}@`;
}

function textIn(what: HostPlaceholder, value: HostText): string {
  return typeof value === "string" ? value : placeholderText(what);
}

/** Nobody joins with the token of an initialized member: it is good for as short as kubeadm can say. */
const firstTokenTtl = "1s";

/** What the first member of a control plane is initialized with. Pure. */
export function initObjects(
  cluster: ClusterSettings,
  node: NodeSettings,
  token: string,
): KubeadmObject[] {
  const apiVersion = kubeadmApiOf(node.kubernetesVersion);
  return [
    omitUndefined<KubeadmObject>({
      apiVersion,
      kind: "InitConfiguration",
      // Without any, kubeadm would make one that is good for a day.
      bootstrapTokens: [{ token, ttl: firstTokenTtl }],
      localAPIEndpoint: apiEndpointOf(cluster, node),
      nodeRegistration: registrationOf(cluster, node, "controlPlane"),
      patches: patchesOf(node),
    }),
    clusterConfiguration(cluster, node),
    kubeletObject(cluster),
  ];
}

/** Where kubeadm looks for the user's patches of what it writes. */
export const kubeadmPatchFolder = "/etc/kubernetes/patches";
/** The patch of its kubelet's configuration. */
export const kubeletPatchPath = `${kubeadmPatchFolder}/kubeletconfiguration+merge.yaml`;
/** The patch of its controller manager's pod. */
export const controllerManagerPatchPath = `${kubeadmPatchFolder}/kube-controller-manager+json.yaml`;

function patchesOf({ kubeletConfiguration, controllerManagerArgs }: NodeSettings) {
  const isPatched = kubeletConfiguration !== undefined || controllerManagerArgs !== undefined;
  return isPatched ? { directory: kubeadmPatchFolder } : undefined;
}

/** What a further member of a control plane joins with. Pure. */
export function joinControlPlaneObjects(
  cluster: ClusterSettings,
  node: NodeSettings,
  join: JoinSettings,
): KubeadmObject[] {
  const joining = joinObject(cluster, node, join, "controlPlane");
  return [{ ...joining, controlPlane: { localAPIEndpoint: apiEndpointOf(cluster, node) } }];
}

/** What a worker joins with. Pure. */
export function joinWorkerObjects(
  cluster: ClusterSettings,
  node: NodeSettings,
  join: JoinSettings,
): KubeadmObject[] {
  return [joinObject(cluster, node, join, "worker")];
}

type Role = "controlPlane" | "worker";

function joinObject(
  cluster: ClusterSettings,
  node: NodeSettings,
  { token, caCertHashes }: JoinSettings,
  role: Role,
): KubeadmObject {
  const apiServerEndpoint = endpointText(cluster.endpoint);
  return omitUndefined<KubeadmObject>({
    apiVersion: kubeadmApiOf(node.kubernetesVersion),
    kind: "JoinConfiguration",
    discovery: { bootstrapToken: { token, apiServerEndpoint, caCertHashes } },
    nodeRegistration: registrationOf(cluster, node, role),
    patches: patchesOf(node),
  });
}

/**
 * kubeadm's ClusterConfiguration for members of one version: `kubeadm init` takes it, and members that join later read it
 * from the ConfigMap kubeadm-config. Pure.
 */
export function clusterConfiguration(
  cluster: ClusterSettings,
  { kubernetesVersion }: Pick<NodeSettings, "kubernetesVersion">,
): KubeadmObject {
  const {
    name,
    endpoint,
    serviceCidrs,
    podCidrs,
    serviceDomain,
    keyAlgorithm,
    extraSans = [],
    patch = {},
  } = cluster;
  const apiVersion = kubeadmApiOf(kubernetesVersion);
  const own = {
    apiServer: { certSANs: [...new Set([endpoint.host, ...extraSans])] },
    controllerManager: { extraArgs: cloudArgs(cluster) },
  };
  return omitUndefined<KubeadmObject>({
    apiVersion,
    kind: "ClusterConfiguration",
    ...withPatch(own, asJson(patch), (args) => argumentsIn(apiVersion, args)),
    clusterName: name,
    kubernetesVersion: `v${kubernetesVersion}`,
    controlPlaneEndpoint: endpointText(cluster.endpoint),
    // Before v1beta4 kubeadm had a feature gate for this, and made keys of RSA without.
    encryptionAlgorithm: apiVersion === "kubeadm.k8s.io/v1beta4" ? keyAlgorithm : undefined,
    networking: {
      serviceSubnet: serviceCidrs.join(","),
      podSubnet: podCidrs.join(","),
      dnsDomain: serviceDomain,
    },
  });
}

/** What all hosts of the cluster share: kubeadm hands it to those that join. */
function kubeletObject({ serviceDomain }: ClusterSettings): KubeadmObject {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    clusterDomain: serviceDomain,
    cgroupDriver: "systemd",
  };
}

function apiEndpointOf({ endpoint }: ClusterSettings, { address }: NodeSettings) {
  return { advertiseAddress: textIn("address", address), bindPort: endpoint.port };
}

function registrationOf(cluster: ClusterSettings, node: NodeSettings, role: Role) {
  const { name, criSocket, providerId, kubernetesVersion } = node;
  const { ignorePreflightErrors, imagePullPolicy } = node;
  const args = omitUndefined({
    "node-labels": labelsText(node.labels),
    "provider-id": providerId === undefined ? undefined : textIn("providerId", providerId),
    ...cloudArgs(cluster),
    ...node.kubeletArgs,
  });
  return omitUndefined<Readonly<Record<string, unknown>>>({
    name: textIn("name", name),
    criSocket,
    ignorePreflightErrors,
    imagePullPolicy,
    // An empty list says that there are none; without a list kubeadm would add its own.
    taints: taintsOf(node, role),
    kubeletExtraArgs: argumentsIn(kubeadmApiOf(kubernetesVersion), args),
  });
}

function taintsOf({ taints, isSchedulable }: NodeSettings, role: Role) {
  const own = taints.map(({ key, value, effect }) => omitUndefined({ key, value, effect }));
  return role === "controlPlane" && !isSchedulable ? [controlPlaneTaint, ...own] : own;
}

function cloudArgs({ hasCloudController = false }: ClusterSettings): Record<string, string> {
  return hasCloudController ? { "cloud-provider": "external" } : {};
}

function labelsText(labels: Readonly<Record<string, string>>): string | undefined {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return pairs.length === 0 ? undefined : pairs.sort().join(",");
}

/** A map before v1beta4, a list of names and values since. */
function argumentsIn(api: KubeadmApi, args: Readonly<Record<string, string>>) {
  if (api === "kubeadm.k8s.io/v1beta3") return args;
  return Object.entries(args).map(([name, value]) => ({ name, value }));
}
