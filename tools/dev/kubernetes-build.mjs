// Sets up a control plane by building it from Go modules.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { goBuild, requireGo } from "../toolchain/go-build.mjs";
import {
  etcdFile,
  etcdVersion,
  kubernetesFiles,
  kubernetesVersion,
} from "./kubernetes-release.mjs";

/** @type {string} */
export const minimumGo = "1.25.0";

const etcdModule = new URL("etcd", import.meta.url);
const kubernetesModule = new URL("kubernetes", import.meta.url);

const usually = new Map([
  ["etcd", "under a minute"],
  ["kube-apiserver", "3 to 5 minutes"],
  ["kube-controller-manager", "a minute"],
  ["kubectl", "under a minute"],
]);

/** @type {import("../toolchain/cached-toolchain.mjs").Install} */
export async function buildKubernetes({ folder, env, progress }) {
  await requireGo(minimumGo, env);
  const bin = join(folder, "bin");
  mkdirSync(bin);
  const announce = (/** @type {string} */ name, /** @type {string} */ version) =>
    progress(`building ${name} ${version} with Go, usually ${usually.get(name)}`);

  announce(etcdFile, etcdVersion);
  const etcd = { module: etcdModule, package: "go.etcd.io/etcd/server/v3" };
  await goBuild(etcd, { file: join(bin, etcdFile) }, env);

  const [major = "", minor = ""] = kubernetesVersion.split(".");
  const variables = {
    "k8s.io/component-base/version.gitVersion": `v${kubernetesVersion}`,
    "k8s.io/component-base/version.gitMajor": major,
    "k8s.io/component-base/version.gitMinor": minor,
  };
  for (const name of kubernetesFiles) {
    announce(name, kubernetesVersion);
    const path = `k8s.io/kubernetes/cmd/${name}`;
    await goBuild({ module: kubernetesModule, package: path, variables }, { folder: bin }, env);
  }
}
