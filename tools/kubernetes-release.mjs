// The one Kubernetes release that tests run, and the programs of it that they need.

export const kubernetesVersion = "1.35.3";

/** What that release of Kubernetes is tested with by its own project. */
export const etcdVersion = "3.6.5";

export const kubernetesPrograms = Object.freeze([
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kubectl",
]);
