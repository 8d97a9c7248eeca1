// How mocha is called.

import { existsSync, readFileSync } from "node:fs";

/** @typedef {import("./verdict.mjs").Report} Report */

/**
 * @param {string} report the file that the reporter writes to
 * @param {readonly string[]} args
 * @returns {string[]} for Node.js, in the root
 */
export function mochaArgs(report, args) {
  return [
    "node_modules/mocha/bin/mocha.js",
    "--reporter",
    "tools/dev/suite/reporter.mjs",
    "--reporter-option",
    `report=${report}`,
    ...(process.stdout.isTTY ? ["--color"] : []),
    ...args,
  ];
}

/**
 * @param {string} file
 * @returns {{ report?: Report }} without one where mocha died before its tests had ended
 */
export function readReport(file) {
  return existsSync(file) ? { report: JSON.parse(readFileSync(file, "utf8")) } : {};
}
