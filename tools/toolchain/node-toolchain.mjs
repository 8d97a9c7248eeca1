// Finds a Node.js that Capstan runs on, or sets one up in the user's cache folder. Parses on Node.js 18.

import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { findInCache, setUpInCache } from "./cached-toolchain.mjs";
import { isFittingNode, minimumNode } from "./node-version.mjs";
import { npmCi } from "./npm.mjs";

/** @typedef {import("./cached-toolchain.mjs").Install} Install */
/** @typedef {import("./cached-toolchain.mjs").Progress} Progress */

/** Equal to what the lockfile in the folder node pins. */
export const packagedNodeVersion = "24.21.0";

const isWindows = process.platform === "win32";
const nodeFile = isWindows ? "node.exe" : "node";

const release = {
  name: "node",
  version: packagedNodeVersion,
  files: [nodeFile],
  check: (/** @type {string} */ folder, /** @type {NodeJS.ProcessEnv} */ env) => {
    // It may be built for another C library.
    const program = join(folder, "bin", nodeFile);
    const { stdout, error } = spawnSync(program, ["--version"], { env, encoding: "utf8" });
    if (error) throw new Error(`it does not run on this machine: ${error.message}`);
    const version = stdout.trim();
    if (version !== `v${packagedNodeVersion}`) throw new Error(`the new node says ${version}`);
  },
  hint: `install Node.js ${minimumNode} or newer`,
};

/**
 * The Node.js to use: the one that runs this if it fits, else the cached one, which is set up where
 * it is missing. Safe to be killed, and to be run by several processes at once.
 *
 * @param {object} [options]
 * @param {NodeJS.ProcessEnv} [options.env] `process.env` when left out
 * @param {Progress} [options.progress]
 * @param {string} [options.running] version of the one that runs this
 * @param {Install} [options.install] the locked package from npm when left out
 * @returns {Promise<string>} absolute path of the program
 * @throws ToolchainError when the cache cannot be written, or none can be installed on this machine
 */
export async function ensureNode({
  env = process.env,
  progress = () => {},
  running = process.version,
  install = installFromNpm,
} = {}) {
  if (isFittingNode(running)) return process.execPath;
  const found = findInCache(release, env);
  if (found !== undefined) return join(found, nodeFile);
  progress(
    `Node.js ${running} is older than ${minimumNode}: setting up a private ${packagedNodeVersion} with npm, once`,
  );
  const binDir = await setUpInCache(
    release,
    { "installation from npm": install },
    { env, progress },
  );
  return join(binDir, nodeFile);
}

/** @type {Install} */
async function installFromNpm({ folder, env }) {
  for (const file of ["package.json", "package-lock.json"]) {
    copyFileSync(new URL(`node/${file}`, import.meta.url), join(folder, file));
  }
  const { code, output } = await npmCi(folder, { env });
  if (code !== 0) throw new Error(`npm ended with ${code}: ${output.trim()}`);
  const platform = `${isWindows ? "win" : process.platform}-${process.arch}`;
  const modules = join(folder, "node_modules");
  const programs = join(modules, `node-${platform}`, "bin");
  if (!existsSync(programs))
    throw new Error(`the registry has none for ${platform}, or cannot be reached`);
  renameSync(programs, join(folder, "bin"));
  rmSync(modules, { recursive: true });
}
