import { hostAdditionsOf } from "../../api/host-additions.js";
import { asJson, isJsonObject } from "../../api/json.js";
import { keyAlgorithmOf } from "../../api/key-algorithm.js";
import { type KubeadmPatch, kubeadmFieldName } from "../../api/kubeadm-patch.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { type ClusterObject, providerValue } from "../../api/types.js";
import { runtimeTerms } from "../../provider/joining-terms.js";
import type { MachineToCompile, UserDataTerms } from "../../provider/port.js";
import { clusterConfiguration, type KubeadmObject } from "../kubeadm/configuration.js";
import { isKubeletLabel } from "../kubeadm/node-labels.js";
import { mergedPatches } from "../kubeadm/patch.js";
import type { ClusterSettings, NodeSettings } from "../kubeadm/settings.js";
import type { HostRole, HostSettings } from "./host-bootstrap.js";
import { signingArgs } from "./key-files.js";
import { criSocketOf } from "./software.js";

/** A host that is to be, and what is known of its cluster when it is made. */
interface HostToMake {
  readonly cluster: ClusterObject;
  readonly machine: MachineToCompile;
  /** Machines of the control plane. They say for all hosts of the cluster where images come from. */
  readonly members: readonly MachineToCompile[];
  readonly terms: UserDataTerms;
  readonly endpoint: ClusterSettings["endpoint"];
  readonly role: HostRole;
}

/**
 * What a machine's host is made a node with. Pure: everything that may differ between two hosts is in the Cluster,
 * the Machine and the provider's terms, or in the role with its secrets. Throws an Error for a container runtime that
 * is not among `hostRuntimes`.
 */
export function hostSettings({
  cluster,
  machine,
  members,
  terms,
  endpoint,
  role,
}: HostToMake): HostSettings {
  const patch = kubeadmPatchOf(machine);
  // A member joins with its own value, and a worker names none.
  const { imageRepository } = mergedConfiguration(
    machine.controlPlane ? [machine, ...members] : members,
  );
  const clusterSpec = providerValue(cluster.spec);
  const runtime = machine.spec.versions.containerRuntime ?? runtimeTerms(terms, clusterSpec);
  return {
    cluster: clusterSettings(cluster, patch, { terms, endpoint }),
    node: omitUndefined({
      ...nodeSettings(machine, patch, terms, criSocketOf(runtime.name)),
      controllerManagerArgs: role.kind === "joinWorker" ? undefined : signingArgs(role.keys),
      imageRepository,
    }),
    role,
    runtime,
    source: terms.software(machine, clusterSpec),
    additions: hostAdditionsOf(machine.providerSpec),
  };
}

/** A control plane as its Machines want it. */
interface ControlPlaneToBe extends Pick<HostToMake, "cluster" | "terms" | "endpoint"> {
  /** Its members, never none. The first one's version counts, and its settings where others contradict them. */
  readonly members: readonly MachineToCompile[];
}

/**
 * The ClusterConfiguration that hosts of a control plane join with, which stands in the ConfigMap kubeadm-config. All
 * members' `kubeadm.clusterConfiguration` are in it, as kubeadm has one for the whole control plane. Pure.
 */
export function controlPlaneConfiguration({
  cluster,
  members,
  terms,
  endpoint,
}: ControlPlaneToBe): KubeadmObject {
  const patch = { clusterConfiguration: mergedConfiguration(members) };
  const settings = clusterSettings(cluster, patch, { terms, endpoint });
  return clusterConfiguration(settings, { kubernetesVersion: controlPlaneVersionOf(members[0]) });
}

/** What members say of their one ClusterConfiguration: the first one's value counts where two contradict each other. */
function mergedConfiguration(
  members: readonly MachineToCompile[],
): NonNullable<KubeadmPatch["clusterConfiguration"]> {
  return mergedPatches(
    members.map((one) => asJson(kubeadmPatchOf(one).clusterConfiguration ?? {})),
  );
}

/** The version of kubeadm on a member's host, and so of its control plane. Pure. */
export function controlPlaneVersionOf(member: MachineToCompile | undefined): string {
  const { controlPlane, kubelet } = member?.spec.versions ?? {};
  return controlPlane ?? kubelet ?? "";
}

function clusterSettings(
  cluster: ClusterObject,
  patch: KubeadmPatch,
  { terms, endpoint }: Pick<HostToMake, "terms" | "endpoint">,
): ClusterSettings {
  const { services, pods, serviceDomain } = cluster.spec.clusterNetwork;
  return omitUndefined({
    name: cluster.metadata.name,
    endpoint,
    serviceCidrs: services.cidrBlocks,
    podCidrs: pods.cidrBlocks,
    serviceDomain,
    keyAlgorithm: keyAlgorithmOf(cluster),
    hasCloudController: terms.hasCloudController,
    patch: patch.clusterConfiguration,
  });
}

function nodeSettings(
  { spec, controlPlane }: MachineToCompile,
  { nodeRegistration = {}, kubeletConfiguration }: KubeadmPatch,
  { commands }: UserDataTerms,
  criSocket: string,
): NodeSettings {
  const { versions, metadata: { labels = {}, annotations } = {}, taints = [], roles = [] } = spec;
  const { kubeletExtraArgs, ignorePreflightErrors, imagePullPolicy } = nodeRegistration;
  const own = Object.entries(labels).filter(([label]) => isKubeletLabel(label));
  return omitUndefined({
    name: { command: commands.name },
    address: { command: commands.address },
    kubernetesVersion: (controlPlane ? versions.controlPlane : undefined) ?? versions.kubelet,
    kubeletVersion: versions.kubelet,
    criSocket,
    labels: Object.fromEntries(own),
    annotations,
    taints,
    isSchedulable: controlPlane && roles.includes("Node"),
    providerId: commands.providerId === undefined ? undefined : { command: commands.providerId },
    kubeletArgs: kubeletExtraArgs,
    kubeletConfiguration,
    ignorePreflightErrors,
    imagePullPolicy,
  });
}

/** As the provider's object has it: it was checked when it was read. */
function kubeadmPatchOf({ providerSpec }: MachineToCompile): KubeadmPatch {
  const patch = providerSpec[kubeadmFieldName];
  return isJsonObject(patch) ? patch : {};
}

/** What a machine asks for that user data cannot give its Node, each in words. Pure. */
export function untoldBy({ name, spec }: MachineToCompile): string[] {
  const { labels = {} } = spec.metadata ?? {};
  const others = Object.keys(labels).filter((label) => !isKubeletLabel(label));
  return [
    ...others.map(
      (label) =>
        `label ${label} of Machine ${name}: a kubelet may not give its own Node this label`,
    ),
    ...(spec.configSource === undefined
      ? []
      : [
          `configSource of Machine ${name}: no kubelet reads its configuration from a ConfigMap since Kubernetes 1.24; ${kubeadmFieldName}.kubeletConfiguration of its providerSpec is read`,
        ]),
  ];
}
