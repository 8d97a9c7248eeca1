// Finds the programs of Kubernetes that hosts of this machine and tests run, or sets them up in the user's cache folder.

import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import {
  findInCache,
  isExecutableFile,
  setUpInCache,
  toolchainError,
} from "./cached-toolchain.mjs";
import { buildKubernetes, minimumGo } from "./kubernetes-build.mjs";
import { downloadKubernetes } from "./kubernetes-download.mjs";
import {
  controlPlaneSet,
  etcdFile,
  etcdVersion,
  kubernetesDigests,
  kubernetesVersion,
  nodeSet,
  olderKubeadmSets,
  previousSet,
  programSets,
} from "./kubernetes-release.mjs";

export {
  controlPlaneSet,
  downloadKubernetes,
  etcdVersion,
  kubernetesDigests,
  kubernetesVersion,
  programSets,
};

/** @typedef {import("./cached-toolchain.mjs").EnsureOptions} EnsureOptions */
/** @typedef {import("./cached-toolchain.mjs").Install} Install */
/** @typedef {import("./cached-toolchain.mjs").ToolchainError} ToolchainError */

/**
 * The programs of a control plane: etcd, kube-apiserver, kube-controller-manager, kubectl.
 *
 * @typedef {object} KubernetesToolchain
 * @property {string} binDir absolute path of the folder that holds them
 * @property {"CAPSTAN_KUBERNETES" | "cache"} origin what led to it
 */

/** @typedef {import("./kubernetes-release.mjs").ProgramSet} ProgramSet */

const versionTimeoutMs = 10_000;
const access = `give this machine access to dl.k8s.io and github.com, or install Go ${minimumGo} or newer`;
const controlPlane = releaseOf(
  controlPlaneSet,
  `${access}, or set CAPSTAN_KUBERNETES to a folder with ${controlPlaneSet.files.join(", ")}`,
);

/** The versions of kubeadm that judge configurations, the newest first. */
export const kubeadmVersions = [nodeSet, ...olderKubeadmSets].map(({ version }) => version);

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
export async function ensureKubernetes({ env = process.env, ...options } = {}) {
  const found = findKubernetes(env);
  if (found) return found;
  const binDir = await setUpSet(controlPlaneSet, controlPlane, { env, ...options });
  return { binDir, origin: "cache" };
}

/**
 * The folder with kubeadm, kubelet and kube-scheduler of the version that control planes have.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} absolute path, undefined when there are none
 */
export function findKubernetesNode(env) {
  return findInCache(releaseOf(nodeSet), env);
}

/**
 * `findKubernetesNode`, and where that finds nothing, a set-up as that of `ensureKubernetes`.
 *
 * @param {EnsureOptions} [options]
 * @returns {Promise<string>}
 * @throws ToolchainError as `ensureKubernetes` does
 */
export async function ensureKubernetesNode(options = {}) {
  return ensureSet(nodeSet, options);
}

/**
 * @param {string} version one of `kubeadmVersions`
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} absolute path of the program, undefined when there is none
 */
export function findKubeadm(version, env) {
  const set = [nodeSet, ...olderKubeadmSets].find((one) => one.version === version);
  const binDir = set === undefined ? undefined : findInCache(releaseOf(set), env);
  return binDir === undefined ? undefined : join(binDir, "kubeadm");
}

/**
 * Sets up what `findKubernetesNode` and `findKubeadm` do not find.
 *
 * @param {EnsureOptions} [options]
 * @returns {Promise<void>}
 * @throws ToolchainError as `ensureKubernetes` does
 */
export async function ensureKubeadms(options = {}) {
  for (const set of [nodeSet, ...olderKubeadmSets]) await ensureSet(set, options);
}

/** Of the minor that clusters are upgraded from; `findKubeadm` knows its kubeadm. */
export const previousKubernetesVersion = previousSet.version;

/**
 * The folder with what a cluster runs of `previousKubernetesVersion`, but for etcd and kubeadm.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} absolute path, undefined when there is none
 */
export function findPreviousKubernetes(env) {
  return findInCache(releaseOf(previousSet), env);
}

/**
 * `findPreviousKubernetes`, and where that finds nothing, a set-up as that of `ensureKubernetes`.
 *
 * @param {EnsureOptions} [options]
 * @returns {Promise<string>}
 * @throws ToolchainError as `ensureKubernetes` does
 */
export async function ensurePreviousKubernetes(options = {}) {
  return ensureSet(previousSet, options);
}

/** The versions that hosts of processes or namespaces run, the newest first. */
export const processVersions = [controlPlaneSet.version, previousSet.version];

/**
 * What hosts of processes or namespaces run of a version. etcd is the same for all.
 *
 * @param {string} version
 * @returns {readonly ProgramSet[]} none for a version that is not of `processVersions`
 */
function processSets(version) {
  if (version === previousSet.version) {
    const kubeadmSets = olderKubeadmSets.filter((set) => set.version === version);
    return [controlPlaneSet, previousSet, ...kubeadmSets];
  }
  return version === controlPlaneSet.version ? [controlPlaneSet, nodeSet] : [];
}

/**
 * @param {string} version
 * @param {NodeJS.ProcessEnv} env
 * @returns {((program: string) => string) | undefined} absolute path of each program; undefined where not all are there
 */
export function findProcessPrograms(version, env) {
  const found = processSets(version).map((set) => ({
    set,
    binDir: findInCache(releaseOf(set), env),
  }));
  if (found.length === 0 || found.some(({ binDir }) => binDir === undefined)) return undefined;
  return (program) => {
    // What a version has of its own comes before what is for all.
    const { binDir = "" } = found.findLast(({ set }) => set.files.includes(program)) ?? {};
    return join(binDir, program);
  };
}

/**
 * Sets up what `findProcessPrograms` does not find.
 *
 * @param {string} version one of `processVersions`
 * @param {EnsureOptions} [options]
 * @returns {Promise<void>}
 * @throws ToolchainError as `ensureKubernetes` does
 */
export async function ensureProcessPrograms(version, options = {}) {
  for (const set of processSets(version)) await ensureSet(set, options);
}

/**
 * @param {ProgramSet} set
 * @param {EnsureOptions} options
 * @returns {Promise<string>}
 */
async function ensureSet(set, options) {
  const release = releaseOf(set);
  const found = findInCache(release, options.env ?? process.env);
  return found ?? setUpSet(set, release, options);
}

/**
 * @param {ProgramSet} set
 * @param {import("./cached-toolchain.mjs").Release} release
 * @param {EnsureOptions} options
 * @returns {Promise<string>}
 */
async function setUpSet(set, release, options) {
  const { env = process.env, progress = () => {}, signal } = options;
  const {
    download = (request) => downloadKubernetes(set, request),
    build = (request) => buildKubernetes(set, request),
  } = options;
  return setUpInCache(release, { download, build }, { env, progress, signal });
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
  const { files } = controlPlaneSet;
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
  const binDir = findInCache(controlPlane, env);
  return binDir === undefined ? undefined : { binDir, origin: "cache" };
}

/**
 * @param {ProgramSet} set
 * @param {string} [hint]
 * @returns {import("./cached-toolchain.mjs").Release}
 */
function releaseOf(set, hint = access) {
  const { name, version, files } = set;
  return { name, version, files, hint, check: (folder, env) => checkVersions(set, folder, env) };
}

/** @type {ReadonlyMap<string, readonly string[]>} what programs are asked for their version with, if not --version */
const versionArgs = new Map([
  ["kubectl", ["version", "--client"]],
  ["kubeadm", ["version", "--output=short"]],
]);

/**
 * @param {ProgramSet} set
 * @param {string} folder
 * @param {NodeJS.ProcessEnv} env
 * @throws an Error unless each program says the version that it was set up for
 */
function checkVersions(set, folder, env) {
  for (const file of set.files) {
    const args = versionArgs.get(file) ?? ["--version"];
    const { stdout } = spawnSync(join(folder, "bin", file), args, {
      env,
      encoding: "utf8",
      timeout: versionTimeoutMs,
    });
    const version = /\bv?(\d+\.\d+\.\d+\S*)/.exec(stdout ?? "")?.[1];
    const expected = file === etcdFile ? etcdVersion : set.version;
    if (version !== expected) throw new Error(`the new ${file} says version ${version}`);
  }
}
