// Runs suites, and the tests within them, in an order drawn from a seed, so that tests which lean on
// their neighbours are found. The place of a test depends on nothing but the seed and its own name:
// a file alone runs in the order that it had among all others.

import { createHash, randomInt } from "node:crypto";
import { cutCounts, keepParts, partsFrom, partsVariable } from "./parts.mjs";

/** @typedef {import("mocha").Suite} Suite */
/** @typedef {import("mocha").Test} Test */

const seedLimit = 2 ** 32;

/** Set by whoever starts several mochas that shall share a seed. */
export const orderVariable = "CAPSTAN_ORDER";

export const mochaHooks = {
  /** @this {import("mocha").Context} */
  beforeAll() {
    const seed = seedFrom(process.env[orderVariable] || process.env["CAPSTAN_SEED"]);
    // mocha reads the lists of a suite only after its hooks have run.
    const root = /** @type {Suite} */ (this.test?.parent);
    const parts = partsFrom(process.env[partsVariable]);
    if (parts) for (const [file, count] of keepParts(root, parts)) cutCounts.set(file, count);
    orderRoot(root, seed);
  },
};

/**
 * @param {string | undefined} text drawn when there is none
 * @returns {number} from 0 to 2^32 - 1
 */
export function seedFrom(text) {
  if (!text) return randomInt(seedLimit);
  const seed = Number(text);
  // fast-check prints seeds with a sign: both spellings of 32 bits are taken.
  if (!Number.isInteger(seed) || seed < -seedLimit / 2 || seed >= seedLimit) {
    throw new Error(`CAPSTAN_SEED must be an integer from -2^31 to 2^32 - 1, it is ${text}`);
  }
  return seed >>> 0;
}

/**
 * Puts what the files have brought in order, in place. What is of one file stays together.
 *
 * @param {Suite} root
 * @param {number} seed
 */
export function orderRoot(root, seed) {
  const keyOf = (/** @type {Suite | Test} */ { file = "", title }) =>
    digest(seed, file) + digest(seed, `${file} ${title}`);
  order(root.tests, keyOf);
  order(root.suites, keyOf);
  for (const child of root.suites) orderSuite(child, seed);
}

/**
 * @param {Suite} suite
 * @param {number} seed
 */
function orderSuite(suite, seed) {
  const keyOf = (/** @type {Suite | Test} */ one) => digest(seed, one.titlePath().join(" "));
  order(suite.tests, keyOf);
  order(suite.suites, keyOf);
  for (const child of suite.suites) orderSuite(child, seed);
}

/**
 * Sorts in place; what has the same key stays as it was.
 *
 * @template Item
 * @param {Item[]} list
 * @param {(item: Item) => string} keyOf
 */
function order(list, keyOf) {
  const keys = new Map(list.map((item) => [item, keyOf(item)]));
  const key = (/** @type {Item} */ item) => keys.get(item) ?? "";
  list.sort((one, other) => (key(one) < key(other) ? -1 : key(one) > key(other) ? 1 : 0));
}

/**
 * @param {number} seed
 * @param {string} name
 * @returns {string} of the same length always
 */
function digest(seed, name) {
  return createHash("sha256").update(`${seed} ${name}`).digest("hex");
}
