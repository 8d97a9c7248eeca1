// Finds moto, which answers as EC2 does, or sets it up in the user's cache folder.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findInCache, setUpInCache } from "../toolchain/cached-toolchain.mjs";
import { run } from "../toolchain/run.mjs";
import { installDebianPackages } from "./debian-packages.mjs";

/** @typedef {import("../toolchain/cached-toolchain.mjs").InstallRequest} InstallRequest */

const python = "python3";

const release = {
  name: "moto",
  /** As pinned in the folder beside this file. */
  version: "5.2.4",
  files: [python],
  check: () => {}, // pip compares what it installs with the digests.
  hint: "install Python 3.10 or newer, with its module venv",
};

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} absolute path of the Python that has it, undefined when there is none
 */
export function findMoto(env) {
  const binDir = findInCache(release, env);
  return binDir === undefined ? undefined : join(binDir, python);
}

/**
 * `findMoto`, and where that finds nothing, a virtual environment with the packages from PyPI.
 *
 * @param {import("../toolchain/cached-toolchain.mjs").Surroundings} surroundings
 * @returns {Promise<string>}
 * @throws ToolchainError when the cache cannot be written or the packages cannot be installed
 */
export async function ensureMoto(surroundings) {
  const found = findMoto(surroundings.env);
  if (found !== undefined) return found;
  const ways = { "virtual environment": install, "one with Debian's venv": installWithDebians };
  return join(await setUpInCache(release, ways, surroundings), python);
}

/** @param {InstallRequest} request */
async function installWithDebians(request) {
  await installDebianPackages(["python3-venv"], request.env);
  await install(request);
}

/**
 * The folder gets its name later, so nothing in it may be called that knows where it was: Python may be.
 *
 * @param {InstallRequest} request
 */
async function install({ folder, env, progress }) {
  mkdirSync(folder, { recursive: true });
  progress(`installing moto ${release.version} from PyPI, usually under a minute`);
  const pins = fileURLToPath(new URL("moto/requirements.txt", import.meta.url));
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
