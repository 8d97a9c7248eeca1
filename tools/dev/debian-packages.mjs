// Installs packages of Debian and its relatives, where this user may.

import { findProgram } from "../toolchain/find-program.mjs";
import { run } from "../toolchain/run.mjs";

/**
 * @param {readonly string[]} names
 * @param {NodeJS.ProcessEnv} env
 * @throws an Error with the reason
 */
export async function installDebianPackages(names, env) {
  if (findProgram(["apt-get"], env) === undefined) throw new Error("there is no apt-get");
  // The tests read its schema; at the next boot it would set the machine up as a new one.
  if (names.includes("cloud-init")) {
    await runAsRoot(["mkdir", "-p", "/etc/cloud"], env);
    await runAsRoot(["touch", "/etc/cloud/cloud-init.disabled"], env);
  }
  await runAsRoot(["apt-get", "update"], env);
  const how = ["-y", "--no-install-recommends", "--no-remove"];
  await runAsRoot(["apt-get", "install", ...how, ...names], env);
}

/**
 * @param {readonly string[]} words
 * @param {NodeJS.ProcessEnv} env
 */
async function runAsRoot(words, env) {
  const isRoot = process.getuid?.() === 0;
  const [command = "", ...args] = isRoot ? words : ["sudo", "-n", ...words];
  const { code, output } = await run(command, args, {
    env: { ...env, DEBIAN_FRONTEND: "noninteractive" },
  });
  if (code !== 0) throw new Error(lastLine(output));
}

/** @param {string} output */
function lastLine(output) {
  return output.trim().split("\n").at(-1) ?? "";
}
