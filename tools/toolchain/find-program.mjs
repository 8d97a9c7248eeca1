// Looks for programs as a shell does.

import { delimiter, join } from "node:path";
import { isExecutableFile } from "./cached-toolchain.mjs";

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
