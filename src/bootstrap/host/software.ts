import type { HostAdditions } from "../../api/host-additions.js";
import type { HostFile } from "./host-file.js";

/** What a host runs, by exact versions: semantic ones without "v". */
export interface HostSoftware {
  readonly kubelet: string;
  /** Newer than the kubelet where a control plane is. */
  readonly kubeadm: string;
  readonly containerRuntime: { readonly name: string; readonly version: string };
}

/** A repository of Debian packages. Its texts stand between double quotes of a shell that knows distribution and release. */
export interface AptRepository {
  readonly name: string;
  readonly url: string;
  readonly suite: string;
  /** Where the key is that signs it. */
  readonly keyUrl: string;
}

export interface AptPackage {
  readonly name: string;
  /** As apt takes it; the packagers' own revision is left open. */
  readonly version: string;
}

/** What stands for the repositories' own addresses. */
export type AptMirrors = NonNullable<HostAdditions["aptMirrors"]>;

/** Repositories that have a host's software. Pure. Source: docs/bootstrap.md#software. */
export function aptRepositories(
  { kubelet, kubeadm, containerRuntime }: HostSoftware,
  mirrors: AptMirrors = {},
): AptRepository[] {
  const minors = [...new Set([kubelet, kubeadm].map(minorText))];
  return [
    ...minors.map((minor) =>
      packagesOfKubernetes(`kubernetes-${minor}`, `core:/stable:/v${minor}`, mirrors),
    ),
    runtimeRepository(containerRuntime, mirrors),
  ];
}

/** Packages of a host's software, by what they bring. Pure. */
export function aptPackages({
  kubelet,
  kubeadm,
  containerRuntime: { name, version },
}: HostSoftware): Readonly<
  Record<"kubelet" | "kubeadm" | "kubectl" | "containerRuntime", AptPackage>
> {
  return {
    kubelet: { name: "kubelet", version: `${kubelet}-*` },
    kubeadm: { name: "kubeadm", version: `${kubeadm}-*` },
    kubectl: { name: "kubectl", version: `${kubeadm}-*` },
    containerRuntime: {
      name: name === "containerd" ? "containerd.io" : name,
      version: `${version}-*`,
    },
  };
}

function runtimeRepository(
  { name, version }: HostSoftware["containerRuntime"],
  mirrors: AptMirrors,
): AptRepository {
  if (name === "cri-o") {
    const path = `addons:/cri-o:/stable:/v${minorText(version)}`;
    return packagesOfKubernetes("cri-o", path, mirrors);
  }
  // That of the distribution has one version of containerd at a time.
  const url = `${baseOf(mirrors.docker, "https://download.docker.com/linux")}/$distribution`;
  return { name: "docker", url, suite: "$release stable", keyUrl: `${url}/gpg` };
}

/** Without a slash at its end. Pure. */
export function baseOf(mirror: string | undefined, own: string): string {
  const base = mirror ?? own;
  return base.endsWith("/") ? base.slice(0, -1) : base;
}

function packagesOfKubernetes(name: string, path: string, mirrors: AptMirrors): AptRepository {
  const url = `${baseOf(mirrors.kubernetes, "https://pkgs.k8s.io")}/${path}/deb`;
  return { name, url: `${url}/`, suite: "/", keyUrl: `${url}/Release.key` };
}

function minorText(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}

/** Where the kubelet finds each runtime. */
const criSockets: Readonly<Record<string, string>> = {
  containerd: "unix:///run/containerd/containerd.sock",
  "cri-o": "unix:///run/crio/crio.sock",
};

/** Names of the runtimes that hosts can be made with. */
export const hostRuntimes: readonly string[] = Object.keys(criSockets);

/** The socket of a runtime. Pure. Throws an Error for one that is not among `hostRuntimes`. */
export function criSocketOf(runtime: string): string {
  const socket = criSockets[runtime];
  if (socket === undefined) throw new Error(`no host is made with the runtime ${runtime}`);
  return socket;
}

/** The unit of systemd that a runtime is. Pure. */
export function runtimeService(runtime: string): string {
  return runtime === "cri-o" ? "crio" : runtime;
}

/** What the kernel of every host is to have. */
export const kernelFiles: readonly HostFile[] = [
  {
    path: "/etc/modules-load.d/capstan.conf",
    mode: "0644",
    content: "overlay\nbr_netfilter\n",
  },
  {
    path: "/etc/sysctl.d/90-capstan.conf",
    mode: "0644",
    content: [
      "net.bridge.bridge-nf-call-iptables = 1",
      "net.bridge.bridge-nf-call-ip6tables = 1",
      "net.ipv4.ip_forward = 1",
      "net.ipv6.conf.all.forwarding = 1",
      "",
    ].join("\n"),
  },
];

/** The tag of the pause image that each minor's kubelet works with. Source: kubeadm config images list. */
const sandboxTags: readonly (readonly [number, string])[] = [
  [1034, "3.10.1"],
  [1031, "3.10"],
  [0, "3.9"],
];

/** The pause image for a minor as `minorOf` has it, from the registry that kubeadm takes by default or from another one. Pure. */
export function sandboxImageOf(minor: number, imageRepository = "registry.k8s.io"): string {
  const tag = sandboxTags.find(([from]) => minor >= from)?.[1] ?? "3.9";
  return `${imageRepository}/pause:${tag}`;
}

/** The folder in which users put a hosts.toml for each registry that has a mirror. Source: docs of containerd, registry hosts. */
const registryFolder = "/etc/containerd/certs.d";

/**
 * containerd's configuration: cgroups by systemd, as the kubelet's, the pause image of the kubelet's minor, and mirrors of registries.
 * Its sections are called otherwise from 2.0 on. Pure. Source: docs of containerd, config file versions.
 */
export function containerdFile(version: string, sandboxImage: string): HostFile {
  const isOld = version.startsWith("1.");
  const old = 'plugins."io.containerd.grpc.v1.cri"';
  const runtime = isOld ? `${old}.containerd` : 'plugins."io.containerd.cri.v1.runtime".containerd';
  const pulls = isOld ? old : 'plugins."io.containerd.cri.v1.images"';
  const sandbox = isOld
    ? [`[${pulls}]`, `  sandbox_image = "${sandboxImage}"`]
    : [`[${pulls}.pinned_images]`, `  sandbox = "${sandboxImage}"`];
  const content = [
    `version = ${isOld ? 2 : 3}`,
    ...sandbox,
    `[${pulls}.registry]`,
    `  config_path = "${registryFolder}"`,
    `[${runtime}.runtimes.runc]`,
    '  runtime_type = "io.containerd.runc.v2"',
    `[${runtime}.runtimes.runc.options]`,
    "  SystemdCgroup = true",
    "",
  ].join("\n");
  return { path: "/etc/containerd/config.toml", mode: "0644", content };
}
