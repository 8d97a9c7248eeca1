// How heavy a file is: what it would take on a quiet machine, from what it took on a busy one.

import { availableParallelism, loadavg } from "node:os";

/** @typedef {import("./files.mjs").Weight} Weight */
/** @typedef {import("./verdict.mjs").FileReport} FileReport */

const sampleMs = 5_000;

/** Samples how many times as long the processors take for their work, since more wants to run than there are processors. */
export class LoadMeter {
  /** @type {number[]} */
  #samples = [];
  #timer = setInterval(() => this.#sample(), sampleMs).unref();

  /** @returns {number} a time to ask about */
  now() {
    this.#sample();
    return this.#samples.length - 1;
  }

  /**
   * @param {number} begun
   * @returns {number} 1 where every process had a processor
   */
  slowdownSince(begun) {
    this.#sample();
    const samples = this.#samples.slice(begun);
    return samples.reduce((sum, one) => sum + one, 0) / samples.length;
  }

  close() {
    clearInterval(this.#timer);
  }

  #sample() {
    const [runnable = 0] = loadavg();
    this.#samples.push(Math.max(1, runnable / availableParallelism()));
  }
}

/**
 * Work takes so many times as long as on a quiet machine, waiting does not. Pure.
 *
 * @param {FileReport} report
 * @param {number} slowdown at least 1
 * @returns {Weight} of all tests of a file that is cut, where its parts are alike
 */
export function weightOf({ ms, processorMs, tests, registered, parts }, slowdown) {
  const waited = ms - processorMs * slowdown;
  const quietMs = Math.max(ms / slowdown, waited + processorMs);
  const isCutWhole = parts?.reduce((sum, count) => sum + count, 0) === registered;
  const times = isCutWhole && registered !== undefined && tests > 0 ? registered / tests : 1;
  return { seconds: (quietMs * times) / 1000, processorSeconds: (processorMs * times) / 1000 };
}
