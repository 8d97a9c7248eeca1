import { kubernetesVersion, previousKubernetesVersion } from "#kubernetes";
import {
  type KubernetesPrograms,
  kubernetesPrograms,
} from "../../providers/local/kubeadm/kubernetes-programs.js";

/** Those that tests run of Kubernetes. */
export function currentPrograms(): KubernetesPrograms {
  return kubernetesPrograms(kubernetesVersion);
}

/** Those of the minor before; etcd and kubectl, which suit both, are the current ones. */
export function previousPrograms(): KubernetesPrograms {
  return kubernetesPrograms(previousKubernetesVersion);
}
