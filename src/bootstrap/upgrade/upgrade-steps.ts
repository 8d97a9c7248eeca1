import { canonicalJson } from "../../api/json.js";
import { minorsBetween, skewOf } from "../../api/versions.js";
import { type HostSettings, patchFiles, runtimeFiles, softwareOf } from "../host/host-bootstrap.js";
import type { HostSoftware } from "../host/software.js";

/** A host's settings as far as it can change in place. */
export type HostSetup = Pick<HostSettings, "cluster" | "node" | "runtime" | "source" | "additions">;

/**
 * Whose turn it is: the member that brings the cluster's own objects to the new version, which comes before all
 * others; another member; a worker.
 */
export type UpgradeRole = "firstMember" | "member" | "worker";

/** One change of a host, in the order in which they are made. */
export type UpgradeStep =
  /** Its kubeadm, which knows how everything after it is done. */
  | { readonly kind: "kubeadm"; readonly version: string }
  /** `kubeadm upgrade apply` for the cluster and this member; `node` for this host alone. */
  | { readonly kind: "kubeadmUpgrade"; readonly how: "apply" | "node"; readonly version: string }
  /** What the user says of this host's kubelet, where no upgrade of kubeadm brings it. */
  | { readonly kind: "kubeletConfiguration" }
  /** The container runtime's package, and its configuration. */
  | { readonly kind: "containerRuntime"; readonly name: string; readonly version: string }
  /** Its kubelet, and the kubectl that suits its kubeadm. */
  | { readonly kind: "kubelet"; readonly version: string }
  /** The kubelet reads its configuration anew. */
  | { readonly kind: "restartKubelet" };

/** How a host gets from what it runs to what it is to run. */
type HostUpgrade =
  | { readonly kind: "none" }
  | { readonly kind: "steps"; readonly steps: readonly UpgradeStep[] }
  /** What keeps it from changing in place, all of it. */
  | { readonly kind: "refused"; readonly reasons: readonly string[] };

/**
 * The steps of a host in place, in kubeadm's order. Draining is whoever else's. Pure.
 * Source: kubernetes.io, Upgrading kubeadm clusters; docs/upgrades.md.
 */
export function upgradeOf(from: HostSetup, to: HostSetup, role: UpgradeRole): HostUpgrade {
  const steps = stepsOf(from, to, role);
  if (steps.length === 0) return { kind: "none" };
  const reasons = refusalsOf(from, to, role);
  return reasons.length === 0 ? { kind: "steps", steps } : { kind: "refused", reasons };
}

function stepsOf(from: HostSetup, to: HostSetup, role: UpgradeRole): UpgradeStep[] {
  const [before, after] = [softwareOf(from), softwareOf(to)];
  const { kubeadm: version, kubelet, containerRuntime } = after;
  const isKubeadmNew = before.kubeadm !== version;
  const isPatchNew = canonicalJson(patchFiles(from.node)) !== canonicalJson(patchFiles(to.node));
  const isKubeletNew = before.kubelet !== kubelet;
  const how = role === "firstMember" ? "apply" : "node";
  return [
    ...steps(isKubeadmNew, { kind: "kubeadm", version }, { kind: "kubeadmUpgrade", how, version }),
    ...steps(isPatchNew && !isKubeadmNew, { kind: "kubeletConfiguration" }),
    ...steps(isRuntimeNew(from, to), { kind: "containerRuntime", ...containerRuntime }),
    ...steps(isKubeletNew, { kind: "kubelet", version: kubelet }),
    ...steps(isKubeadmNew || isPatchNew || isKubeletNew, { kind: "restartKubelet" }),
  ];
}

function steps(isAsked: boolean, ...asked: UpgradeStep[]): UpgradeStep[] {
  return isAsked ? asked : [];
}

/** Its configuration is another one where the kubelet's minor goes with another pause image. */
function isRuntimeNew(from: HostSetup, to: HostSetup): boolean {
  const textOf = (setup: HostSetup) => canonicalJson([setup.runtime, runtimeFiles(setup)]);
  return textOf(from) !== textOf(to);
}

function refusalsOf(from: HostSetup, to: HostSetup, role: UpgradeRole): string[] {
  const [before, after] = [softwareOf(from), softwareOf(to)];
  const isImage = [from, to].some(({ source }) => source === "image");
  const isOther = canonicalJson(before) !== canonicalJson(after);
  return [
    ...(isImage && isOther
      ? ["its software comes with its image: another version needs a new host"]
      : []),
    ...(before.containerRuntime.name === after.containerRuntime.name
      ? []
      : [
          `${after.containerRuntime.name} in the place of ${before.containerRuntime.name} needs a new host`,
        ]),
    ...(role === "worker" ? [] : controlPlaneRefusals(before.kubeadm, after)),
  ];
}

/** Of a member, whose kubeadm is of its control plane's version. */
function controlPlaneRefusals(before: string, { kubeadm, kubelet }: HostSoftware): string[] {
  const minors = minorsBetween(before, kubeadm);
  const skew = skewOf(kubelet, kubeadm);
  return [
    ...(minors < 0
      ? [
          `control plane ${kubeadm} is of an older minor version than ${before}, whose data it cannot read`,
        ]
      : []),
    ...(minors > 1
      ? [`control plane ${kubeadm} is ${minors} minor versions ahead of ${before}: one at a time`]
      : []),
    ...(skew === undefined ? [] : [skew.summary]),
  ];
}
