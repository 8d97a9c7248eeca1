// Finds moto, which answers as EC2 does, or sets it up in the user's cache folder.

import { ensurePythonOf, findPythonOf } from "./python-packages.mjs";

const moto = { name: "moto", version: "5.2.4" };

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} absolute path of the Python that has it, undefined when there is none
 */
export function findMoto(env) {
  return findPythonOf(moto, env);
}

/**
 * `findMoto`, and where that finds nothing, a virtual environment with the packages from PyPI.
 *
 * @param {import("../toolchain/cached-toolchain.mjs").Surroundings} surroundings
 * @returns {Promise<string>}
 * @throws ToolchainError when the cache cannot be written or the packages cannot be installed
 */
export async function ensureMoto(surroundings) {
  return ensurePythonOf(moto, surroundings);
}
