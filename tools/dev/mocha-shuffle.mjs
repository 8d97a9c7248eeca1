// Runs suites, and the tests within them, in an order drawn from a seed, so that tests which lean on
// their neighbours are found. The seed is printed; CAPSTAN_SEED repeats an order.

import { randomInt } from "node:crypto";

/** @typedef {import("mocha").Suite} Suite */

const seedLimit = 2 ** 32;

export const mochaHooks = {
  /** @this {import("mocha").Context} */
  beforeAll() {
    const seed = seedFrom(process.env.CAPSTAN_SEED);
    console.log(`order: CAPSTAN_SEED=${seed}`);
    // mocha reads the lists of a suite only after its hooks have run.
    shuffleSuite(/** @type {Suite} */ (this.test?.parent), randomFrom(seed));
  },
};

/**
 * @param {string | undefined} text
 * @returns {number}
 */
function seedFrom(text) {
  if (!text) return randomInt(seedLimit);
  const seed = Number(text);
  // fast-check prints seeds with a sign: both spellings of 32 bits are taken.
  if (!Number.isInteger(seed) || seed < -seedLimit / 2 || seed >= seedLimit) {
    throw new Error(`CAPSTAN_SEED must be an integer from -2^31 to 2^32 - 1, it is ${text}`);
  }
  return seed >>> 0;
}

/**
 * @param {Suite} suite
 * @param {() => number} random
 */
function shuffleSuite(suite, random) {
  shuffle(suite.tests, random);
  shuffle(suite.suites, random);
  for (const child of suite.suites) shuffleSuite(child, random);
}

/**
 * Fisher-Yates, in place.
 *
 * @param {unknown[]} list
 * @param {() => number} random
 */
function shuffle(list, random) {
  for (let last = list.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [list[last], list[other]] = [list[other], list[last]];
  }
}

/**
 * The generator mulberry32.
 *
 * @param {number} seed
 * @returns {() => number} numbers from 0 to below 1
 */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / seedLimit;
  };
}
