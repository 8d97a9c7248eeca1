// Samples to Markdown.

import { steps } from "./compare.mjs";

/** @typedef {import("./compare.mjs").Sample} Sample */

const own = "capstan";
const peers = ["terraform", "plain Pulumi"];

/**
 * @param {readonly Sample[]} samples
 * @returns {string} one table per size: medians (min-max), then the ratios of capstan to each peer,
 *   taken pair by pair within a repetition
 */
export function tables(samples) {
  const sizes = [...new Set(samples.map(({ machines }) => machines))];
  return sizes
    .map((size) =>
      table(
        size,
        samples.filter(({ machines }) => machines === size),
      ),
    )
    .join("\n\n");
}

/**
 * @param {number} size
 * @param {readonly Sample[]} samples
 */
function table(size, samples) {
  const names = [own, ...peers];
  const ratios = peers.map((peer) => `${own} / ${peer}`);
  const rows = Object.entries(steps).map(([step, words]) => {
    const of = (/** @type {string} */ contestant) =>
      samples.filter((s) => s.step === step && s.contestant === contestant);
    const times = names.map((name) => spread(timesOf(of(name)), 0));
    return [words, ...times, ...peers.map((peer) => spread(pairwise(of(own), of(peer)), 2))];
  });
  return [
    [`n = ${size}, ms`, ...names, ...ratios],
    ["---", ...[...names, ...ratios].map(() => "--:")],
    ...rows,
    ["largest process, MB", ...names.map((name) => largest(samples, name)), ...peers.map(() => "")],
  ]
    .map((cells) => `| ${cells.join(" | ")} |`)
    .join("\n");
}

/** @param {readonly Sample[]} samples */
function timesOf(samples) {
  return samples.flatMap(({ ms }) => ms ?? []);
}

/**
 * One ratio per repetition that has both.
 *
 * @param {readonly Sample[]} owns
 * @param {readonly Sample[]} others
 */
function pairwise(owns, others) {
  return owns.flatMap(({ ms, repetition }) => {
    const other = others.find((sample) => sample.repetition === repetition);
    return ms === undefined || other?.ms === undefined ? [] : [ms / other.ms];
  });
}

/**
 * @param {readonly number[]} values
 * @param {number} digits
 */
function spread(values, digits) {
  if (values.length === 0) return "not measured";
  const text = (/** @type {number} */ value) => value.toFixed(digits);
  return `${text(median(values))} (${text(Math.min(...values))}-${text(Math.max(...values))})`;
}

/**
 * @param {readonly Sample[]} samples
 * @param {string} contestant
 */
function largest(samples, contestant) {
  const own = samples.filter((sample) => sample.contestant === contestant);
  const peaks = own.flatMap(({ peakKib }) => peakKib ?? []);
  if (peaks.length === 0) return "not measured";
  return Math.round((Math.max(...peaks) * 1024) / 1e6);
}

/**
 * @param {readonly number[]} values at least one
 * @returns {number}
 */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [lower = NaN, upper = NaN] = [sorted[middle - 1], sorted[middle]];
  return sorted.length % 2 === 1 ? upper : (lower + upper) / 2;
}
