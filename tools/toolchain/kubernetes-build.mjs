// Sets up programs of Kubernetes, and etcd, by building them from Go modules.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { goBuild, requireGo } from "./go-build.mjs";
import { etcdFile, etcdVersion } from "./kubernetes-release.mjs";

/** @typedef {import("./cached-toolchain.mjs").InstallRequest} InstallRequest */
/** @typedef {import("./kubernetes-release.mjs").ProgramSet} ProgramSet */

/** @type {string} */
export const minimumGo = "1.25.0";

const etcdModule = new URL("etcd", import.meta.url);

const usually = new Map([
  ["etcd", "under a minute"],
  ["kube-apiserver", "3 to 5 minutes"],
  ["kube-controller-manager", "a minute"],
  ["kubectl", "under a minute"],
  ["kubeadm", "under 3 minutes"],
  ["kubelet", "1 to 3 minutes"],
  ["kube-scheduler", "under a minute"],
]);

/**
 * @param {ProgramSet} set
 * @param {InstallRequest} request
 * @returns {Promise<void>}
 */
export async function buildKubernetes(set, { folder, env, progress, signal }) {
  await requireGo(minimumGo, env);
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const file of set.files) {
    const version = file === etcdFile ? etcdVersion : set.version;
    progress(`building ${file} ${version} with Go, usually ${usually.get(file)}`);
    await goBuild(programIn(set, file), { file: join(bin, file) }, { env, signal });
  }
}

/**
 * @param {ProgramSet} set
 * @param {string} file
 * @returns {import("./go-build.mjs").GoProgram}
 */
function programIn({ version, module }, file) {
  if (file === etcdFile) return { module: etcdModule, package: "go.etcd.io/etcd/server/v3" };
  const [major = "", minor = ""] = version.split(".");
  const variables = {
    "k8s.io/component-base/version.gitVersion": `v${version}`,
    "k8s.io/component-base/version.gitMajor": major,
    "k8s.io/component-base/version.gitMinor": minor,
  };
  return { module, package: `k8s.io/kubernetes/cmd/${file}`, variables };
}
