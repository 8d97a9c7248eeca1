// Within a mocha: leaves out the tests of parts that are not this run's (tiers.mjs), and counts them.

import { sourceOf } from "./files.mjs";
import { cutOf, partCount, partsOf } from "./tiers.mjs";

/** @typedef {import("mocha").Suite} Suite */
/** @typedef {import("mocha").Test} Test */

/**
 * What there is of a file that is cut.
 *
 * @typedef {object} CutCount
 * @property {number} registered tests of the file, of whatever part
 * @property {readonly number[]} parts the tests of each part; what is in every run is in none
 * @property {number} due tests that this run has to run
 */

/** Set by the run of all tests for its mochas, such as 2 or 0,2; without it each test of a file runs. */
export const partsVariable = "CAPSTAN_TEST_PARTS";

/** By source; filled before the first test, for the reporter. @type {Map<string, CutCount>} */
export const cutCounts = new Map();

/**
 * @param {string | undefined} text
 * @returns {number[] | undefined} undefined where it does not say
 */
export function partsFrom(text) {
  if (!text) return undefined;
  const parts = text.split(",").map(Number);
  if (parts.every((part) => Number.isInteger(part) && part >= 0 && part < partCount)) return parts;
  throw new Error(`${partsVariable} must be of 0 to ${partCount - 1}, as in 0,2; it is ${text}`);
}

/**
 * Takes the tests of other parts out of their suites. A suite that is left without tests runs no hooks.
 *
 * @param {Suite} root as the sources have registered it, before anything is put in order
 * @param {readonly number[]} kept parts
 * @returns {Map<string, CutCount>}
 */
export function keepParts(root, kept) {
  /** @type {Map<string, CutCount>} */
  const counts = new Map();
  for (const [source, tests] of testsByFile(root)) {
    const cut = cutOf(source);
    if (cut === undefined) continue;
    const parts = partsOf(
      cut,
      tests.map((test) => test.fullTitle()),
    );
    const isDue = (/** @type {number | undefined} */ part) =>
      part === undefined || kept.includes(part);
    const others = new Set(tests.filter((_, at) => !isDue(parts[at])));
    for (const { parent } of others) {
      if (parent) parent.tests = parent.tests.filter((one) => !others.has(one));
    }
    counts.set(source, {
      registered: tests.length,
      parts: Array.from({ length: partCount }, (_, at) => parts.filter((one) => one === at).length),
      due: tests.length - others.size,
    });
  }
  return counts;
}

/**
 * @param {Suite} root
 * @returns {Map<string, Test[]>} by source, in its order
 */
function testsByFile(root) {
  /** @type {Map<string, Test[]>} */
  const byFile = new Map();
  const add = (/** @type {Suite} */ suite) => {
    for (const test of suite.tests) {
      const source = sourceOf(test.file ?? "");
      byFile.set(source, [...(byFile.get(source) ?? []), test]);
    }
    suite.suites.forEach(add);
  };
  add(root);
  return byFile;
}
