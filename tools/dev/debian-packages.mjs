// Installs packages of Debian and its relatives, where this user may.

import { delimiter, join } from "node:path";
import { isExecutableFile } from "../toolchain/cached-toolchain.mjs";
import { run } from "../toolchain/run.mjs";

/**
 * @param {readonly string[]} names
 * @param {NodeJS.ProcessEnv} env
 * @throws an Error with the reason
 */
export async function installDebianPackages(names, env) {
  if (findProgram(["apt-get"], env) === undefined) throw new Error("there is no apt-get");
  const isRoot = process.getuid?.() === 0;
  const [command = "", ...first] = isRoot ? ["apt-get"] : ["sudo", "-n", "apt-get"];
  const quiet = { env: { ...env, DEBIAN_FRONTEND: "noninteractive" } };
  for (const args of [
    ["update"],
    ["install", "-y", "--no-install-recommends", "--no-remove", ...names],
  ]) {
    const { code, output } = await run(command, [...first, ...args], quiet);
    if (code !== 0) throw new Error(lastLine(output));
  }
}

/**
 * @param {readonly string[]} names in the order of preference
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} absolute path of the first of them that is on PATH
 */
export function findProgram(names, env) {
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  return names
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find(isExecutableFile);
}

/** @param {string} output */
function lastLine(output) {
  return output.trim().split("\n").at(-1) ?? "";
}
