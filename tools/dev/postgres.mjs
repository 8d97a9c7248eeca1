// Finds the PostgreSQL server that a test keeps states in, or installs one.

import { existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { isExecutableFile } from "../toolchain/cached-toolchain.mjs";
import { findProgram } from "../toolchain/find-program.mjs";
import { installDebianPackages } from "./debian-packages.mjs";
import { findOrInstall } from "./find-or-install.mjs";

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
    ["initdb", "postgres"].every((name) => isExecutableFile(join(folder, name))),
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
  return findOrInstall({
    name: "PostgreSQL",
    find: () => find(env),
    ways: { "Debian package": install },
    hint: "install PostgreSQL, with initdb on PATH",
    progress,
  });
}
