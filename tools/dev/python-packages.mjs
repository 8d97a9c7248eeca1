// Python programs from PyPI, each in a virtual environment of its own in the user's cache folder.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findInCache, setUpInCache } from "../toolchain/cached-toolchain.mjs";
import { run } from "../toolchain/run.mjs";
import { installDebianPackages } from "./debian-packages.mjs";

/** @typedef {import("../toolchain/cached-toolchain.mjs").InstallRequest} InstallRequest */

/**
 * @typedef {object} PythonProgram
 * @property {string} name
 * @property {string} version as pinned in the folder of its name beside this file
 */

const python = "python3";

/** @param {PythonProgram} program */
function releaseOf({ name, version }) {
  return {
    name,
    version,
    files: [python],
    check: () => {}, // pip compares what it installs with the digests.
    hint: "install Python 3.10 or newer, with its module venv",
  };
}

/**
 * @param {PythonProgram} program
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} absolute path of the Python that has it, undefined when there is none
 */
export function findPythonOf(program, env) {
  const binDir = findInCache(releaseOf(program), env);
  return binDir === undefined ? undefined : join(binDir, python);
}

/**
 * `findPythonOf`, and where that finds nothing, a virtual environment with the packages from PyPI.
 *
 * @param {PythonProgram} program
 * @param {import("../toolchain/cached-toolchain.mjs").Surroundings} surroundings
 * @returns {Promise<string>}
 * @throws ToolchainError when the cache cannot be written or the packages cannot be installed
 */
export async function ensurePythonOf(program, surroundings) {
  const found = findPythonOf(program, surroundings.env);
  if (found !== undefined) return found;
  const install = (/** @type {InstallRequest} */ request) => installInto(program, request);
  const ways = {
    "virtual environment": install,
    "one with Debian's venv": async (/** @type {InstallRequest} */ request) => {
      await installDebianPackages(["python3-venv"], request.env);
      await install(request);
    },
  };
  return join(await setUpInCache(releaseOf(program), ways, surroundings), python);
}

/**
 * The folder gets its name later, so nothing in it may be called that knows where it was: Python may be.
 *
 * @param {PythonProgram} program
 * @param {InstallRequest} request
 */
async function installInto({ name, version }, { folder, env, progress }) {
  mkdirSync(folder, { recursive: true });
  progress(`installing ${name} ${version} from PyPI, usually under a minute`);
  const pins = fileURLToPath(new URL(`${name}/requirements.txt`, import.meta.url));
  const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
  await mustRun(python, ["-m", "venv", folder], env);
  await mustRun(
    join(folder, "bin", python),
    [...pip, "--require-hashes", "--only-binary", ":all:", "-r", pins],
    env,
  );
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
async function mustRun(program, args, env) {
  const { code, output } = await run(program, args, { env });
  if (code !== 0) throw new Error(output.trim().split("\n").at(-1) ?? `it ended with ${code}`);
}
