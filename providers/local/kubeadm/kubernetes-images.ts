import type { ProgramImage } from "./images.js";
import { output } from "./namespaces.js";
import type { KubernetesPrograms } from "./kubernetes-programs.js";

/** Says that it is there, as kubeadm asks the pause image before an upgrade, or runs until it is to end. */
const waiting = [
  "#!/bin/busybox sh",
  '[ "$*" = -v ] && exit',
  "trap exit TERM INT",
  "while :; do busybox sleep 3600 & wait; done",
  "",
].join("\n");

const controlPlanePrograms = [
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "etcd",
];

/** The images that kubeadm of a version asks for, as it names them. */
export interface KubernetesImages {
  /** The control plane's own programs. */
  readonly controlPlane: readonly ProgramImage[];
  /** One under the names of all that a Node can do without (kube-proxy, CoreDNS) and the pause image: it waits. */
  readonly others: readonly ProgramImage[];
}

export async function kubernetesImages(programs: KubernetesPrograms): Promise<KubernetesImages> {
  const listing = ["config", "images", "list", "--kubernetes-version", programs.version];
  const names = (await output(programs.path("kubeadm"), listing)).trim().split("\n");
  const programOf = (name: string) =>
    controlPlanePrograms.find((program) => name.includes(`/${program}:`));
  const controlPlane = names.flatMap((name) => {
    const program = programOf(name);
    if (program === undefined) return [];
    const path = `/usr/local/bin/${program}`;
    return [{ names: [name], program: programs.path(program), path, entrypoint: [path] }];
  });
  const waiter = {
    names: names.filter((name) => programOf(name) === undefined),
    program: "/bin/busybox",
    path: "/bin/busybox",
    entrypoint: ["/pause"],
    texts: { "/pause": waiting, "/usr/local/bin/kube-proxy": waiting },
  };
  return { controlPlane, others: [waiter] };
}
