// Finds the program that judges Ignition configurations, or builds it in the user's cache folder.

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { findInCache, setUpInCache } from "../toolchain/cached-toolchain.mjs";
import { goBuild, requireGo } from "../toolchain/go-build.mjs";

/** @typedef {import("../toolchain/cached-toolchain.mjs").InstallRequest} InstallRequest */

const file = "ignition-validate";
/** As locked in the folder beside this file. */
const version = "2.24.0";
const minimumGo = "1.25.0";
const versionTimeoutMs = 10_000;

const release = {
  name: file,
  version,
  files: [file],
  check: (/** @type {string} */ folder, /** @type {NodeJS.ProcessEnv} */ env) => {
    const options = { env, encoding: /** @type {const} */ ("utf8"), timeout: versionTimeoutMs };
    const { stdout } = spawnSync(join(folder, "bin", file), ["--version"], options);
    if (!stdout?.includes(version)) throw new Error(`the new ${file} says version ${stdout}`);
  },
  hint: `install Go ${minimumGo} or newer`,
};

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} absolute path of the program, undefined when there is none
 */
export function findIgnitionValidate(env) {
  const binDir = findInCache(release, env);
  return binDir === undefined ? undefined : join(binDir, file);
}

/**
 * `findIgnitionValidate`, and where that finds nothing, a build: its releases come without checksums.
 *
 * @param {import("../toolchain/cached-toolchain.mjs").Surroundings} surroundings
 * @returns {Promise<string>}
 * @throws ToolchainError when the cache cannot be written or the build fails
 */
export async function ensureIgnitionValidate(surroundings) {
  const found = findIgnitionValidate(surroundings.env);
  if (found !== undefined) return found;
  return join(await setUpInCache(release, { build }, surroundings), file);
}

/** @param {InstallRequest} request */
async function build({ folder, env, progress }) {
  await requireGo(minimumGo, env);
  const bin = join(folder, "bin");
  mkdirSync(bin);
  progress(`building ${file} ${version} with Go, usually under a minute`);
  const program = {
    module: new URL("ignition-validate", import.meta.url),
    package: "github.com/coreos/ignition/v2/validate",
    variables: { "github.com/coreos/ignition/v2/internal/version.Raw": version },
  };
  await goBuild(program, { file: join(bin, file) }, { env });
}
