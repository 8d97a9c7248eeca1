// Finds the PostgreSQL server that a test keeps states in, or installs one.

import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { findProgram, installDebianPackages } from "./debian-packages.mjs";

/** Debian keeps each version's programs in a folder of its own and puts only clients on PATH. */
const debianFolder = "/usr/lib/postgresql";

/**
 * The folder with PostgreSQL's server programs: that of initdb on PATH, or the newest of the folders
 * in which Debian keeps versions.
 *
 * @param {NodeJS.ProcessEnv} env
 * @param {string} [versionsFolder]
 * @returns {string | undefined} absolute path, undefined when there is none
 */
export function findPostgres(env, versionsFolder = debianFolder) {
  const onPath = findProgram(["initdb"], env);
  const versions = existsSync(versionsFolder) ? readdirSync(versionsFolder) : [];
  const folders = versions
    .sort((one, other) => Number(other) - Number(one))
    .map((version) => join(versionsFolder, version, "bin"));
  return [...(onPath === undefined ? [] : [dirname(onPath)]), ...folders].find((folder) =>
    ["initdb", "postgres"].every((name) => isExecutable(join(folder, name))),
  );
}

/**
 * @typedef {object} EnsurePostgresOptions
 * @property {NodeJS.ProcessEnv} [env] `process.env` when left out
 * @property {(text: string) => void} [progress]
 * @property {(env: NodeJS.ProcessEnv) => string | undefined} [find]
 * @property {() => Promise<void>} [install]
 */

/**
 * `findPostgres`, and where that finds nothing, Debian's package.
 *
 * @param {EnsurePostgresOptions} [options]
 * @returns {Promise<string>}
 * @throws an Error with a hint when it cannot be installed
 */
export async function ensurePostgres({
  env = process.env,
  progress = () => {},
  find = findPostgres,
  install = () => installDebianPackages(["postgresql"], env),
} = {}) {
  const found = find(env);
  if (found !== undefined) return found;
  progress("installing postgresql");
  try {
    await install();
    const installed = find(env);
    if (installed !== undefined) return installed;
    throw new Error("it left no server");
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    const hint = "install PostgreSQL, with initdb on PATH";
    throw Object.assign(
      new Error(`cannot set up PostgreSQL: no Debian package (${cause}); ${hint}`),
      {
        hint,
      },
    );
  }
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
