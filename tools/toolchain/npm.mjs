// Runs npm.

import { run } from "./run.mjs";

/** @typedef {import("node:child_process").SpawnOptions} SpawnOptions */

/**
 * Installs what a folder's lockfile says whatever the user's npm settings and NODE_ENV are, and
 * whatever options an npm around this one was given: those are inherited.
 *
 * @param {string} folder
 * @param {SpawnOptions} [options]
 * @returns {Promise<{ code: number, output: string }>} as `run` answers
 */
export function npmCi(folder, options = {}) {
  const args = [
    "ci",
    "--dry-run=false",
    "--include=dev",
    "--include=optional",
    "--engine-strict=false",
    "--global=false",
    "--json=false",
    "--ignore-scripts=false",
    "--package-lock=true",
    "--fund=false",
    "--audit=false",
    "--loglevel=error",
  ];
  // Inside `npm start` and npx npm names itself; otherwise the one on PATH is taken.
  const npm = process.env["npm_execpath"];
  const isNpm = npm !== undefined && /npm-cli\.c?js$/.test(npm);
  return isNpm
    ? run(process.execPath, [npm, ...args], { ...options, cwd: folder })
    : run("npm", args, { ...options, cwd: folder, shell: process.platform === "win32" });
}
