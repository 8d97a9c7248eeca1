// Finds the Pulumi command line that Capstan drives, or sets it up in the user's cache folder.

import { realpathSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { delimiter, dirname, join, resolve } from "node:path";
import { cacheRoot } from "./cache-root.mjs";
import {
  findInCache,
  isExecutableFile,
  setUpInCache,
  toolchainError,
} from "./cached-toolchain.mjs";
import { buildPulumi, minimumGo } from "./pulumi-build.mjs";
import { downloadPulumi } from "./pulumi-download.mjs";
import {
  cliFile,
  dynamicProviderFile,
  languageHostFile,
  pulumiVersion,
} from "./pulumi-release.mjs";
import { rememberedVersion } from "./pulumi-versions.mjs";
import { compareVersions } from "./node-version.mjs";

export { cacheRoot, downloadPulumi, pulumiVersion };

/** @typedef {import("./cached-toolchain.mjs").EnsureOptions} EnsureOptions */
/** @typedef {import("./cached-toolchain.mjs").Install} Install */
/** @typedef {import("./cached-toolchain.mjs").ToolchainError} ToolchainError */

/**
 * A usable Pulumi command line, with the Node.js language host and the dynamic provider at hand.
 *
 * @typedef {object} PulumiToolchain
 * @property {string} bin absolute path of the pulumi program
 * @property {string} binDir its folder; to be put first on the PATH of whoever runs it
 * @property {"CAPSTAN_PULUMI" | "PATH" | "cache"} origin what led to it
 */

const companionFiles = [languageHostFile, dynamicProviderFile];
const versionTimeoutMs = 10_000;

const release = {
  name: "pulumi",
  version: pulumiVersion,
  files: [cliFile, ...companionFiles],
  check: (/** @type {string} */ folder, /** @type {NodeJS.ProcessEnv} */ env) => {
    const version = versionOf(join(folder, "bin", cliFile), env);
    if (version !== pulumiVersion) throw new Error(`the new pulumi says version ${version}`);
  },
  hint:
    `give this machine access to get.pulumi.com, or install Go ${minimumGo} or newer, ` +
    `or set CAPSTAN_PULUMI to an installed pulumi ${pulumiVersion}`,
};

/**
 * The Pulumi to use, in this order: CAPSTAN_PULUMI, PATH, the cache. One on PATH that does not fit is
 * passed over. Starts no process unless there is one to ask, whose version is then remembered in the
 * cache.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {PulumiToolchain | undefined} undefined when there is none
 * @throws ToolchainError when CAPSTAN_PULUMI names something that cannot be used
 */
export function findPulumi(env) {
  return findNamed(env) ?? findOnPath(env) ?? findCached(env);
}

/**
 * `findPulumi`, and where that finds nothing, a set-up into the cache by download or build. Safe to
 * be killed, and to be run by several processes at once.
 *
 * @param {EnsureOptions} [options]
 * @returns {Promise<PulumiToolchain>}
 * @throws ToolchainError when CAPSTAN_PULUMI cannot be used, the cache cannot be written, or neither
 *   download nor build succeeds
 */
export async function ensurePulumi({
  env = process.env,
  progress = () => {},
  signal,
  download = downloadPulumi,
  build = buildPulumi,
} = {}) {
  const found = findPulumi(env);
  if (found) return found;
  return cached(await setUpInCache(release, { download, build }, { env, progress, signal }));
}

/**
 * A pulumi that the user named is used or refused, never passed over in silence.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {PulumiToolchain | undefined}
 */
function findNamed(env) {
  const named = env["CAPSTAN_PULUMI"];
  if (!named) return undefined;
  const path = resolve(named);
  const candidates = [path, join(path, cliFile), join(path, "bin", cliFile)];
  const bin = candidates.find(isExecutableFile);
  const cause = bin ? unfitCause(bin, env) : "there is no pulumi program";
  if (!bin || cause) {
    throw toolchainError(
      `cannot use CAPSTAN_PULUMI ${named}: ${cause}`,
      `set it to an installed pulumi ${pulumiVersion} (the program or its folder), or unset it`,
    );
  }
  return { bin, binDir: dirname(bin), origin: "CAPSTAN_PULUMI" };
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {PulumiToolchain | undefined}
 */
function findOnPath(env) {
  const bin = pathFolders(env)
    .map((folder) => join(folder, cliFile))
    .find((candidate) => isExecutableFile(candidate) && !unfitCause(candidate, env));
  return bin ? { bin, binDir: dirname(bin), origin: "PATH" } : undefined;
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {PulumiToolchain | undefined}
 */
function findCached(env) {
  const binDir = findInCache(release, env);
  return binDir === undefined ? undefined : cached(binDir);
}

/**
 * @param {string} binDir
 * @returns {PulumiToolchain}
 */
function cached(binDir) {
  return { bin: join(binDir, cliFile), binDir, origin: "cache" };
}

/**
 * @param {string} bin
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} why this pulumi cannot be used, undefined when it can
 */
function unfitCause(bin, env) {
  const version = rememberedVersion(bin, env, () => versionOf(bin, env));
  if (!version) return "it does not print its version";
  if (!isFittingVersion(version)) {
    return `it is version ${version}, but ${pulumiVersion} or a later 3.x is needed`;
  }
  // The real folder counts too: a link in ~/bin leads to a complete installation.
  const folders = [dirname(bin), dirname(realpathSync(bin)), ...pathFolders(env)];
  const missing = companionFiles.filter(
    (file) => !folders.some((folder) => isExecutableFile(join(folder, file))),
  );
  if (missing.length > 0) return `${missing.join(" and ")} not found beside it or on PATH`;
  return undefined;
}

/**
 * @param {string} bin
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} without the leading v
 */
function versionOf(bin, env) {
  const { stdout } = spawnSync(bin, ["version"], {
    env: { ...env, PULUMI_SKIP_UPDATE_CHECK: "true" },
    encoding: "utf8",
    timeout: versionTimeoutMs,
  });
  return /^v?(\d+\.\d+\.\d+\S*)/.exec(stdout ?? "")?.[1];
}

/**
 * The engine's protocol stays compatible within a major version, towards newer ones only.
 *
 * @param {string} version
 * @returns {boolean}
 */
function isFittingVersion(version) {
  const isSameMajor = version.split(".")[0] === pulumiVersion.split(".")[0];
  return isSameMajor && compareVersions(version, pulumiVersion) >= 0;
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {string[]} absolute
 */
function pathFolders(env) {
  const path = env["PATH"] ?? env["Path"] ?? "";
  return path
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => resolve(folder));
}
