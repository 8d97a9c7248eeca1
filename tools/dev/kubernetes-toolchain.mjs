// Finds the control plane that tests run, or sets it up in the user's cache folder.

import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import {
  findInCache,
  isExecutableFile,
  setUpInCache,
  toolchainError,
} from "../toolchain/cached-toolchain.mjs";
import { buildKubernetes, minimumGo } from "./kubernetes-build.mjs";
import { downloadKubernetes } from "./kubernetes-download.mjs";
import {
  etcdFile,
  etcdVersion,
  kubernetesFiles,
  kubernetesVersion,
} from "./kubernetes-release.mjs";

export { downloadKubernetes, etcdVersion, kubernetesVersion };

/** @typedef {import("../toolchain/cached-toolchain.mjs").EnsureOptions} EnsureOptions */
/** @typedef {import("../toolchain/cached-toolchain.mjs").Install} Install */
/** @typedef {import("../toolchain/cached-toolchain.mjs").ToolchainError} ToolchainError */

/**
 * The programs of a control plane: etcd, kube-apiserver, kube-controller-manager, kubectl.
 *
 * @typedef {object} KubernetesToolchain
 * @property {string} binDir absolute path of the folder that holds them
 * @property {"CAPSTAN_KUBERNETES" | "cache"} origin what led to it
 */

const files = [etcdFile, ...kubernetesFiles];
const versionTimeoutMs = 10_000;

const release = {
  name: "kubernetes",
  version: kubernetesVersion,
  files,
  check: checkVersions,
  hint:
    `give this machine access to dl.k8s.io and github.com, or install Go ${minimumGo} or newer, ` +
    `or set CAPSTAN_KUBERNETES to a folder with ${files.join(", ")}`,
};

/**
 * The programs to use, in this order: CAPSTAN_KUBERNETES, the cache.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {KubernetesToolchain | undefined} undefined when there are none
 * @throws ToolchainError when CAPSTAN_KUBERNETES names a folder that lacks one
 */
export function findKubernetes(env) {
  return findNamed(env) ?? findCached(env);
}

/**
 * `findKubernetes`, and where that finds nothing, a set-up into the cache by download or build. Safe
 * to be killed, and to be run by several processes at once.
 *
 * @param {EnsureOptions} [options]
 * @returns {Promise<KubernetesToolchain>}
 * @throws ToolchainError when CAPSTAN_KUBERNETES cannot be used, the cache cannot be written, or
 *   neither download nor build succeeds
 */
export async function ensureKubernetes({
  env = process.env,
  progress = () => {},
  download = downloadKubernetes,
  build = buildKubernetes,
} = {}) {
  const found = findKubernetes(env);
  if (found) return found;
  const binDir = await setUpInCache(release, { download, build }, { env, progress });
  return { binDir, origin: "cache" };
}

/**
 * A folder that the user named is used or refused, never passed over in silence.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {KubernetesToolchain | undefined}
 */
function findNamed(env) {
  const named = env["CAPSTAN_KUBERNETES"];
  if (!named) return undefined;
  const binDir = resolve(named);
  const missing = files.filter((file) => !isExecutableFile(join(binDir, file)));
  if (missing.length > 0) {
    throw toolchainError(
      `cannot use CAPSTAN_KUBERNETES ${named}: there is no ${missing.join(", no ")}`,
      `set it to a folder with ${files.join(", ")}, or unset it`,
    );
  }
  return { binDir, origin: "CAPSTAN_KUBERNETES" };
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {KubernetesToolchain | undefined}
 */
function findCached(env) {
  const binDir = findInCache(release, env);
  return binDir === undefined ? undefined : { binDir, origin: "cache" };
}

/**
 * @param {string} folder
 * @param {NodeJS.ProcessEnv} env
 * @throws an Error unless each program says the version that it was set up for
 */
function checkVersions(folder, env) {
  for (const file of files) {
    const args = file === "kubectl" ? ["version", "--client"] : ["--version"];
    const { stdout } = spawnSync(join(folder, "bin", file), args, {
      env,
      encoding: "utf8",
      timeout: versionTimeoutMs,
    });
    const version = /\bv?(\d+\.\d+\.\d+\S*)/.exec(stdout ?? "")?.[1];
    const expected = file === etcdFile ? etcdVersion : kubernetesVersion;
    if (version !== expected) throw new Error(`the new ${file} says version ${version}`);
  }
}
