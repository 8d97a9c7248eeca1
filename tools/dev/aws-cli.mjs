// Finds the command line of AWS, or sets it up in the user's cache folder. It is called as `python3 -m awscli`.

import { ensurePythonOf, findPythonOf } from "./python-packages.mjs";

const awsCli = { name: "aws-cli", version: "1.46.3" };

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} absolute path of the Python that has it, undefined when there is none
 */
export function findAwsCli(env) {
  return findPythonOf(awsCli, env);
}

/**
 * `findAwsCli`, and where that finds nothing, a virtual environment with the packages from PyPI.
 *
 * @param {import("../toolchain/cached-toolchain.mjs").Surroundings} surroundings
 * @returns {Promise<string>}
 * @throws ToolchainError when the cache cannot be written or the packages cannot be installed
 */
export async function ensureAwsCli(surroundings) {
  return ensurePythonOf(awsCli, surroundings);
}
