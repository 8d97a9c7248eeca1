// Finds the Pulumi command line that Capstan drives, or sets it up in the user's cache folder.

import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { spawnSync } from "node:child_process";
import { basename, delimiter, dirname, join, resolve } from "node:path";
import { cacheRoot } from "./cache-root.mjs";
import { buildPulumi } from "./pulumi-build.mjs";
import { downloadPulumi } from "./pulumi-download.mjs";
import {
  cliFile,
  dynamicProviderFile,
  languageHostFile,
  pulumiVersion,
} from "./pulumi-release.mjs";
import { rememberedVersion } from "./pulumi-versions.mjs";
import { compareVersions } from "./runtime.mjs";

export { cacheRoot, pulumiVersion };

/** @typedef {import("./pulumi-toolchain.d.mts").PulumiToolchain} PulumiToolchain */
/** @typedef {import("./pulumi-toolchain.d.mts").ToolchainError} ToolchainError */
/** @typedef {import("./pulumi-toolchain.d.mts").EnsureOptions} EnsureOptions */
/** @typedef {import("./pulumi-toolchain.d.mts").Install} Install */
/** @typedef {import("./pulumi-toolchain.d.mts").Progress} Progress */

const companionFiles = [languageHostFile, dynamicProviderFile];
const versionTimeoutMs = 10_000;
const progressEveryMs = 15_000;
const leftoverAgeMs = 24 * 60 * 60 * 1000;

/** @type {(env: NodeJS.ProcessEnv) => PulumiToolchain | undefined} */
export function findPulumi(env) {
  return findNamed(env) ?? findOnPath(env) ?? findInCache(env);
}

/** @type {(options?: EnsureOptions) => Promise<PulumiToolchain>} */
export async function ensurePulumi({
  env = process.env,
  progress = () => {},
  download = downloadPulumi,
  build = buildPulumi,
} = {}) {
  const found = findPulumi(env);
  if (found) return found;
  prepareCache(env);

  const causes = [];
  for (const [name, install] of Object.entries({ download, build })) {
    try {
      await installAtomically(install, env, progress);
      const installed = findInCache(env);
      if (installed) return installed;
      throw new Error(`${cacheFolder(env)} was removed again`);
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      progress(`no ${name}: ${message}`);
      causes.push(`no ${name} (${message})`);
    }
  }
  throw toolchainError(
    `cannot set up pulumi ${pulumiVersion}: ${causes.join(", ")}`,
    "give this machine access to get.pulumi.com, or install Go 1.25.11 or newer, " +
      `or set CAPSTAN_PULUMI to an installed pulumi ${pulumiVersion}`,
  );
}

/**
 * A pulumi that the user named is used or refused, never passed over in silence.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {PulumiToolchain | undefined}
 */
function findNamed(env) {
  const named = env.CAPSTAN_PULUMI;
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
 * Trusts what it finds: the folder gets its name only after its content was checked.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {PulumiToolchain | undefined}
 */
function findInCache(env) {
  const binDir = join(cacheFolder(env), "bin");
  const isComplete = [cliFile, ...companionFiles].every((file) =>
    isExecutableFile(join(binDir, file)),
  );
  return isComplete ? { bin: join(binDir, cliFile), binDir, origin: "cache" } : undefined;
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {string}
 */
function cacheFolder(env) {
  return join(cacheRoot(env), `pulumi-${pulumiVersion}-${process.platform}-${process.arch}`);
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
 * Lets `install` fill a temporary folder beside the target and renames it into place, so that
 * whoever is killed at any point leaves nothing that looks like a toolchain.
 *
 * @param {Install} install
 * @param {NodeJS.ProcessEnv} env
 * @param {Progress} progress
 * @returns {Promise<void>}
 */
async function installAtomically(install, env, progress) {
  const target = cacheFolder(env);
  const folder = mkdtempSync(`${target}.tmp-`);
  const started = performance.now();
  let phase = "setting up";
  const timer = setInterval(() => {
    progress(`${phase}: ${Math.round((performance.now() - started) / 1000)} s so far`);
  }, progressEveryMs);
  const announce = (/** @type {string} */ text) => progress((phase = text));
  try {
    await install({ folder, env, progress: announce });
    const version = versionOf(join(folder, "bin", cliFile), env);
    if (version !== pulumiVersion) throw new Error(`the new pulumi says version ${version}`);
    putInPlace(folder, target, env);
  } finally {
    clearInterval(timer);
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} folder
 * @param {string} target
 * @param {NodeJS.ProcessEnv} env
 */
function putInPlace(folder, target, env) {
  try {
    renameSync(folder, target);
  } catch (error) {
    // Another set-up was first, and its result is as good as ours.
    if (findInCache(env)) return;
    if (!isExistingFolder(target)) throw error;
    // Somebody removed files from the target. It is moved, not emptied, to stay atomic.
    const damaged = mkdtempSync(`${target}.tmp-`);
    renameSync(target, join(damaged, "damaged"));
    rmSync(damaged, { recursive: true, force: true });
    renameSync(folder, target);
  }
}

/**
 * Makes the cache folder and removes what killed set-ups left there long ago; a younger temporary
 * folder may belong to a set-up that is still running.
 *
 * @param {NodeJS.ProcessEnv} env
 */
function prepareCache(env) {
  const root = cacheRoot(env);
  try {
    mkdirSync(root, { recursive: true });
    accessSync(root, constants.W_OK);
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    throw toolchainError(
      `cannot write the cache folder ${root}: ${code}`,
      "set CAPSTAN_CACHE to a folder that you can write",
    );
  }
  const marker = `${basename(cacheFolder(env))}.tmp-`;
  for (const name of readdirSync(root).filter((entry) => entry.startsWith(marker))) {
    const path = join(root, name);
    const modified = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - modified > leftoverAgeMs) rmSync(path, { recursive: true, force: true });
  }
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {string[]} absolute
 */
function pathFolders(env) {
  const path = env.PATH ?? env.Path ?? "";
  return path
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => resolve(folder));
}

/**
 * @param {string} path
 * @returns {boolean}
 */
function isExecutableFile(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * @param {string} path
 * @returns {boolean}
 */
function isExistingFolder(path) {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/**
 * @param {string} message
 * @param {string} hint
 * @returns {ToolchainError}
 */
function toolchainError(message, hint) {
  return Object.assign(new Error(message), { code: /** @type {const} */ ("TOOLCHAIN"), hint });
}
