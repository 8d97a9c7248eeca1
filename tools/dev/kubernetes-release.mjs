// What tests run of Kubernetes, in sets that are set up each by itself.

/** The version that tests run control planes and nodes of. */
export const kubernetesVersion = "1.35.3";

/** As locked in the folder etcd beside this file. */
export const etcdVersion = "3.6.5";

export const etcdFile = "etcd";

/**
 * @typedef {object} ProgramSet
 * @property {string} name of its folder in the cache
 * @property {string} version of Kubernetes
 * @property {readonly string[]} files its programs
 * @property {URL} module the folder that locks what those of Kubernetes are built from
 */

/** @type {ProgramSet} */
export const controlPlaneSet = {
  name: "kubernetes",
  version: kubernetesVersion,
  files: [etcdFile, "kube-apiserver", "kube-controller-manager", "kubectl"],
  module: new URL("kubernetes", import.meta.url),
};

/** @type {ProgramSet} What a host runs beside the control plane, or before there is one. */
export const nodeSet = {
  name: "kubernetes-node",
  version: kubernetesVersion,
  files: ["kubeadm", "kubelet", "kube-scheduler"],
  module: controlPlaneSet.module,
};

/** @type {readonly ProgramSet[]} Older minors: the one before, and the last that reads v1beta3 only. */
export const olderKubeadmSets = ["1.34.2", "1.30.4"].map((version) => ({
  name: "kubeadm",
  version,
  files: ["kubeadm"],
  module: new URL(`kubernetes-${version.replace(/\.\d+$/, "")}`, import.meta.url),
}));

/** @type {ProgramSet} The minor before, with kubeadm of its own above; etcd and kubectl of today suit it. */
export const previousSet = {
  name: "kubernetes-previous",
  version: "1.34.2",
  files: ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"],
  module: new URL("kubernetes-1.34", import.meta.url),
};
