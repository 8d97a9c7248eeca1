// The control plane that tests run.

export const kubernetesVersion = "1.35.3";

/** As locked in the folder etcd beside this file. */
export const etcdVersion = "3.6.5";

export const etcdFile = "etcd";

/** The programs of Kubernetes itself. */
export const kubernetesFiles = ["kube-apiserver", "kube-controller-manager", "kubectl"];
