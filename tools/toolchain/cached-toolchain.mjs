// Programs that are set up in the user's cache folder, under a name that tells their version: what the
// set-ups of all toolchains share.

import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { basename, join } from "node:path";
import { cacheRoot } from "./cache-root.mjs";

/**
 * Why there is no usable toolchain. The hint is the user's next action.
 *
 * @typedef {Error & { readonly code: "TOOLCHAIN", readonly hint: string }} ToolchainError
 */

/** @typedef {(text: string) => void} Progress receives one line of text without line end */

/**
 * Puts the programs of a toolchain into `folder`/bin, or rejects and says why it cannot.
 *
 * @callback Install
 * @param {InstallRequest} request
 * @returns {Promise<void>}
 */

/** @typedef {{ readonly folder: string } & Surroundings} InstallRequest */

/**
 * @typedef {object} Surroundings
 * @property {NodeJS.ProcessEnv} env
 * @property {Progress} progress called at every step and at least every 15 seconds while one lasts
 * @property {AbortSignal | undefined} [signal] ends the set-up: its programs and downloads end, and no other way is tried
 */

/**
 * @typedef {object} EnsureOptions
 * @property {NodeJS.ProcessEnv} [env] `process.env` when left out
 * @property {Progress} [progress]
 * @property {AbortSignal | undefined} [signal] ends the set-up, which then rejects with the signal's reason
 * @property {Install} [download] tried first; the official release when left out
 * @property {Install} [build] tried second; a build from Go modules when left out
 */

const progressEveryMs = 15_000;
const leftoverAgeMs = 24 * 60 * 60 * 1000;

/**
 * @typedef {object} Release what is set up
 * @property {string} name of the product, for people and for the folder
 * @property {string} version
 * @property {readonly string[]} files of its bin folder, without which it is not complete
 * @property {(folder: string, env: NodeJS.ProcessEnv) => void} check throws when a new one is not
 *   what it should be
 * @property {string} hint what to do where none of the ways works
 */

/**
 * @param {Release} release
 * @param {NodeJS.ProcessEnv} env
 * @returns {string} the folder that it is set up in
 */
export function cachedFolder({ name, version }, env) {
  return join(cacheRoot(env), `${name}-${version}-${process.platform}-${process.arch}`);
}

/**
 * Trusts what it finds: the folder gets its name only after its content was checked.
 *
 * @param {Release} release
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} the bin folder in the cache, undefined when it is not complete
 */
export function findInCache(release, env) {
  const binDir = join(cachedFolder(release, env), "bin");
  const isComplete = release.files.every((file) => isExecutableFile(join(binDir, file)));
  return isComplete ? binDir : undefined;
}

/**
 * Sets a release up by the first way that works. Safe to be killed, and to be run by several
 * processes at once.
 *
 * @param {Release} release
 * @param {Readonly<Record<string, Install>>} ways by name, in the order in which they are tried
 * @param {Surroundings} surroundings
 * @returns {Promise<string>} its bin folder
 * @throws ToolchainError when the cache cannot be written or no way works; the signal's reason once it is aborted
 */
export async function setUpInCache(release, ways, surroundings) {
  const { env, progress, signal } = surroundings;
  prepareCache(release, env);
  const causes = [];
  for (const [name, install] of Object.entries(ways)) {
    try {
      signal?.throwIfAborted();
      await installAtomically(release, install, surroundings);
      const binDir = findInCache(release, env);
      if (binDir !== undefined) return binDir;
      throw new Error(`${cachedFolder(release, env)} was removed again`);
    } catch (error) {
      // A terminal's Ctrl-C ends the programs of the set-up too: their failure is no reason for another way.
      signal?.throwIfAborted();
      const { message } = /** @type {Error} */ (error);
      progress(`no ${name}: ${message}`);
      causes.push(`no ${name} (${message})`);
    }
  }
  throw toolchainError(
    `cannot set up ${release.name} ${release.version}: ${causes.join(", ")}`,
    release.hint,
  );
}

/**
 * Lets `install` fill a temporary folder beside the target and renames it into place, so that
 * whoever is killed at any point leaves nothing that looks like a toolchain.
 *
 * @param {Release} release
 * @param {Install} install
 * @param {Surroundings} surroundings
 * @returns {Promise<void>}
 */
async function installAtomically(release, install, surroundings) {
  const { env, progress } = surroundings;
  const folder = mkdtempSync(`${cachedFolder(release, env)}.tmp-`);
  const started = performance.now();
  let phase = "setting up";
  const timer = setInterval(() => {
    progress(`${phase}: ${Math.round((performance.now() - started) / 1000)} s so far`);
  }, progressEveryMs);
  const announce = (/** @type {string} */ text) => progress((phase = text));
  try {
    await install({ ...surroundings, folder, progress: announce });
    release.check(folder, env);
    putInPlace(release, folder, env);
  } finally {
    clearInterval(timer);
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {Release} release
 * @param {string} folder
 * @param {NodeJS.ProcessEnv} env
 */
function putInPlace(release, folder, env) {
  const target = cachedFolder(release, env);
  try {
    renameSync(folder, target);
  } catch (error) {
    // Another set-up was first, and its result is as good as ours.
    if (findInCache(release, env) !== undefined) return;
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
 * @param {Release} release
 * @param {NodeJS.ProcessEnv} env
 */
function prepareCache(release, env) {
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
  const marker = `${basename(cachedFolder(release, env))}.tmp-`;
  for (const name of readdirSync(root).filter((entry) => entry.startsWith(marker))) {
    const path = join(root, name);
    const modified = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - modified > leftoverAgeMs) rmSync(path, { recursive: true, force: true });
  }
}

/**
 * @param {string} path
 * @returns {boolean}
 */
export function isExecutableFile(path) {
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
export function toolchainError(message, hint) {
  return Object.assign(new Error(message), { code: /** @type {const} */ ("TOOLCHAIN"), hint });
}
