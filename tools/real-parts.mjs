// Programs of the system that tests drive. Debian's packages are installed where that is possible;
// where it is not, the tests that need the program fail and say what is missing.

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { run } from "./run.mjs";

/** Program and the Debian package that has it. */
const parts = [{ program: "tmux", debianPackage: "tmux" }];

/**
 * Installs what is missing, once: repeating it costs a look at PATH.
 *
 * @param {NodeJS.ProcessEnv} env
 */
export async function installRealParts(env) {
  const missing = parts.filter(({ program }) => !isOnPath(program, env));
  if (missing.length === 0) return;
  const names = missing.map(({ debianPackage }) => debianPackage);
  process.stderr.write(`test: installing ${names.join(", ")}\n`);
  const isRoot = process.getuid?.() === 0;
  const aptGet = isRoot ? ["apt-get"] : ["sudo", "-n", "apt-get"];
  const quiet = { env: { ...env, DEBIAN_FRONTEND: "noninteractive" } };
  for (const args of [["update"], ["install", "-y", "--no-install-recommends", ...names]]) {
    const [command = "apt-get", ...first] = aptGet;
    const { code, output } = await run(command, [...first, ...args], quiet).catch((error) => ({
      code: 1,
      output: String(error),
    }));
    if (code !== 0) {
      process.stderr.write(`test: cannot install ${names.join(", ")}: ${lastLine(output)}\n`);
      return;
    }
  }
}

/**
 * @param {string} program
 * @param {NodeJS.ProcessEnv} env
 */
function isOnPath(program, env) {
  return (env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** @param {string} output */
function lastLine(output) {
  return output.trim().split("\n").at(-1) ?? "";
}
