import { isJsonObject, type JsonObject } from "../../api/json.js";
import { minorOf } from "../../api/versions.js";
import type { KubeadmObject } from "./configuration.js";

/** An addon of kubeadm: a workload in kube-system, and its container. */
export interface Addon {
  readonly kind: "DaemonSet" | "Deployment";
  readonly name: "kube-proxy" | "coredns";
  readonly container: "kube-proxy" | "coredns";
}

/** What `kubeadm init` leaves in a cluster beside the control plane. */
export const addons: readonly Addon[] = [
  { kind: "DaemonSet", name: "kube-proxy", container: "kube-proxy" },
  { kind: "Deployment", name: "coredns", container: "coredns" },
];

/**
 * Tags of CoreDNS that kubeadm of a minor version deploys, the latest last. Source: CoreDNSVersion in kubeadm's constants of
 * each minor version.
 */
const coreDnsTags: Readonly<Record<number, readonly string[]>> = {
  24: ["v1.8.6"],
  25: ["v1.9.3"],
  26: ["v1.9.3"],
  27: ["v1.10.1"],
  28: ["v1.10.1"],
  29: ["v1.11.1", "v1.11.3"],
  30: ["v1.11.1", "v1.11.3"],
  31: ["v1.11.1", "v1.11.3"],
  32: ["v1.11.3"],
  33: ["v1.12.0"],
  34: ["v1.12.1"],
  35: ["v1.13.1"],
};

interface Image {
  /** "registry.k8s.io/kube-proxy". */
  readonly repository: string;
  readonly tag: string;
}

/**
 * The image that an addon needs beside a control plane; undefined where the present one stays. The repository changes
 * only where the configuration names one. An image of another name, with a digest, or with a tag that kubeadm never set
 * is the user's own and stays. Pure.
 */
export function addonImage(
  addon: Addon,
  present: string,
  configuration: KubeadmObject,
): string | undefined {
  const image = parsedImage(present, addon.container);
  if (image === undefined) return undefined;
  const { repository = image.repository, tag } =
    addon.name === "kube-proxy"
      ? kubeProxyOf(image, configuration)
      : coreDnsOf(image, configuration);
  const wanted = `${repository}:${tag}`;
  return wanted === present ? undefined : wanted;
}

type WantedImage = Partial<Image> & Pick<Image, "tag">;

/** kube-proxy has the version of the control plane. */
function kubeProxyOf({ tag }: Image, { kubernetesVersion, imageRepository }: KubeadmObject) {
  const isReleased = /^v\d+\.\d+\.\d+$/.test(tag);
  const wanted: WantedImage = { tag: isReleased ? String(kubernetesVersion) : tag };
  return typeof imageRepository === "string"
    ? { ...wanted, repository: `${imageRepository}/kube-proxy` }
    : wanted;
}

/** CoreDNS has the version that kubeadm deploys, or the one that the user's configuration names. */
function coreDnsOf({ tag }: Image, { kubernetesVersion, imageRepository, dns }: KubeadmObject) {
  const own: JsonObject = isJsonObject(dns) ? dns : {};
  const minor = minorOf(String(kubernetesVersion).replace(/^v/, "")) ?? 0;
  const wanted: WantedImage = {
    tag: typeof own["imageTag"] === "string" ? own["imageTag"] : coreDnsTag(tag, minor % 1_000),
  };
  const repository = own["imageRepository"] ?? imageRepository;
  if (typeof repository !== "string") return wanted;
  // Kubernetes' own registry has it in a folder.
  const folder = repository === "registry.k8s.io" ? `${repository}/coredns` : repository;
  return { ...wanted, repository: `${folder}/coredns` };
}

/** A tag that kubeadm of this minor version deploys stays, and so does one that no earlier minor version deployed. */
function coreDnsTag(present: string, minor: number): string {
  const tags = coreDnsTags[minor] ?? [];
  const isEarlier = Object.entries(coreDnsTags).some(
    ([known, deployed]) => Number(known) < minor && deployed.includes(present),
  );
  return isEarlier && !tags.includes(present) ? (tags.at(-1) ?? present) : present;
}

function parsedImage(text: string, name: string): Image | undefined {
  const found = /^(?<repository>[^@]*\/[^/:@]+):(?<tag>[^:/@]+)$/.exec(text)?.groups;
  const { repository, tag } = found ?? {};
  if (repository === undefined || tag === undefined) return undefined;
  return repository.endsWith(`/${name}`) ? { repository, tag } : undefined;
}
