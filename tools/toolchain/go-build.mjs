// Builds programs from Go modules, for machines that reach a module proxy but not the servers of
// releases. A folder for each module locks everything in it by version and hash.

import { sep } from "node:path";
import { fileURLToPath } from "node:url";
import { compareVersions } from "./node-version.mjs";
import { run } from "./run.mjs";

/**
 * @typedef {object} GoProgram
 * @property {URL} module the folder that locks it
 * @property {string} package
 * @property {readonly string[]} [tags]
 * @property {Readonly<Record<string, string>>} [variables] of the program, set to other texts
 */

/**
 * @param {string} minimum
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<void>}
 * @throws an Error when there is no Go of that version or a newer one
 */
export async function requireGo(minimum, env) {
  const { output } = await run("go", ["version"], { env: goEnv(env) }).catch(() => {
    throw new Error("no Go on PATH");
  });
  const version = /\bgo(\d+\.\d+(\.\d+)?)/.exec(output)?.[1];
  if (!version) throw new Error(`go version says ${output.trim()}`);
  if (compareVersions(version, minimum) < 0) {
    throw new Error(`Go ${version} is older than ${minimum}`);
  }
}

/**
 * @param {GoProgram} program
 * @param {{ folder: string } | { file: string }} target the folder for it, or its file
 * @param {{ readonly env: NodeJS.ProcessEnv, readonly signal?: AbortSignal | undefined }} surroundings the signal ends the build
 * @returns {Promise<void>}
 */
export async function goBuild(
  { module, package: path, tags = [], variables = {} },
  target,
  { env, signal },
) {
  const set = Object.entries(variables).map(([name, value]) => `-X ${name}=${value}`);
  const { code, output } = await run(
    "go",
    [
      "build",
      "-trimpath",
      "-buildvcs=false",
      "-tags",
      tags.join(","),
      "-ldflags",
      ["-w", "-s", ...set].join(" "),
      "-o",
      "file" in target ? target.file : target.folder + sep,
      path,
    ],
    { cwd: fileURLToPath(module), env: goEnv(env), signal },
  );
  if (code !== 0) {
    const lastLines = output.trim().split("\n").slice(-3).join("; ");
    throw new Error(`go build of ${path} ended with ${code}: ${lastLines}`);
  }
}

/**
 * The user's environment (proxies, caches) without what would change the result: another target, a
 * workspace around us, flags, or a Go that downloads a newer Go.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {NodeJS.ProcessEnv}
 */
function goEnv(env) {
  return {
    ...env,
    CGO_ENABLED: "0",
    GOARCH: "",
    GOFLAGS: "-mod=readonly",
    GOOS: "",
    GOTOOLCHAIN: "local",
    GOWORK: "off",
  };
}
