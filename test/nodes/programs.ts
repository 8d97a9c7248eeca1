import assert from "node:assert/strict";
import { join } from "node:path";
import {
  findKubeadm,
  findKubernetes,
  findKubernetesNode,
  findPreviousKubernetes,
  kubernetesVersion,
  previousKubernetesVersion,
} from "#kubernetes";

/** The programs of Kubernetes in one version, and an etcd. */
export interface Programs {
  readonly version: string;
  /** Where one stands on this machine. */
  path(program: string): string;
}

/** Those that tests run of Kubernetes. */
export function currentPrograms(): Programs {
  const controlPlane = found(findKubernetes(process.env)?.binDir);
  const node = found(findKubernetesNode(process.env));
  const ofNodes = new Set(["kubeadm", "kubelet", "kube-scheduler"]);
  return {
    version: kubernetesVersion,
    path: (program) => join(ofNodes.has(program) ? node : controlPlane, program),
  };
}

/** Those of the minor before; etcd and kubectl, which suit both, are the current ones. */
export function previousPrograms(): Programs {
  const version = previousKubernetesVersion;
  const folder = found(findPreviousKubernetes(process.env));
  const kubeadm = found(findKubeadm(version, process.env));
  const current = currentPrograms();
  const path = (program: string): string => {
    if (program === "kubeadm") return kubeadm;
    return ["etcd", "kubectl"].includes(program) ? current.path(program) : join(folder, program);
  };
  return { version, path };
}

function found(folder: string | undefined): string {
  assert.ok(folder !== undefined, "there is no Kubernetes; npm test sets it up");
  return folder;
}
