// What the processes of a run do: which files share one, and which goes first. Pure.

/** @typedef {import("./files.mjs").Floor} Floor */

/**
 * One mocha.
 *
 * @typedef {object} Batch
 * @property {readonly string[]} files sources, sorted
 * @property {number} seconds how long it will probably take
 */

/** A file of its own from here on: what starting a mocha costs is little against it. */
const heavySeconds = 5;
/** Light files share a process up to this, so that none of them is long when all others have ended. */
const batchSeconds = 15;
/** Nothing is known of a new file: it may be long. */
const unknownSeconds = 60;

/**
 * Heavy files alone, light ones together, the longest first: what is left for the end is short, so
 * that the workers end at nearly the same time.
 *
 * @param {readonly string[]} files
 * @param {Floor} floor
 * @returns {Batch[]} each file in exactly one
 */
export function batchesOf(files, floor) {
  const seconds = (/** @type {string} */ file) => floor[file]?.seconds ?? unknownSeconds;
  const heavy = files.filter((file) => seconds(file) >= heavySeconds);
  const light = files.filter((file) => seconds(file) < heavySeconds);
  return [
    ...heavy.map((file) => ({ files: [file], seconds: seconds(file) })),
    ...together(light, seconds),
  ].sort((one, other) => other.seconds - one.seconds);
}

/**
 * Each file goes where the least is so far, the longest first.
 *
 * @param {readonly string[]} files
 * @param {(file: string) => number} secondsOf
 * @returns {Batch[]} as even as they can be
 */
function together(files, secondsOf) {
  const total = files.reduce((sum, file) => sum + secondsOf(file), 0);
  const count = Math.min(files.length, Math.ceil(total / batchSeconds) || 1);
  const batches = Array.from({ length: count }, () => ({
    files: /** @type {string[]} */ ([]),
    seconds: 0,
  }));
  for (const file of [...files].sort((one, other) => secondsOf(other) - secondsOf(one))) {
    const least = batches.reduce((one, other) => (isLess(other, one) ? other : one));
    least.files.push(file);
    least.seconds += secondsOf(file);
  }
  return batches.map((batch) => ({ ...batch, files: batch.files.sort() }));
}

/**
 * @param {Batch} one
 * @param {Batch} other
 */
function isLess(one, other) {
  return (
    one.seconds < other.seconds ||
    (one.seconds === other.seconds && one.files.length < other.files.length)
  );
}
