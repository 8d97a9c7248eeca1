// What the processes of a run do: which files share one, and which goes next beside those that run. Pure.

import { cutOf, dueIn } from "./tiers.mjs";

/** @typedef {import("./files.mjs").Floor} Floor */

/**
 * One mocha.
 *
 * @typedef {object} Batch
 * @property {readonly string[]} files sources, sorted
 * @property {number} seconds how long it probably takes where nothing runs beside it
 * @property {number} busy how many processors it keeps busy meanwhile, on average
 * @property {Servers} [servers] what it starts that not many may start at a time
 */

/** @typedef {"kubelets" | "API servers"} Servers */

/**
 * What a machine stands.
 *
 * @typedef {object} Room
 * @property {number} processors
 * @property {number} workers batches at a time, at most
 */

/** A file of its own from here on: what starting a mocha costs is little against it. */
const heavySeconds = 5;
/** Light files share a process up to this, so that none of them is long when all others have ended. */
const batchSeconds = 15;
/** Nothing is known of a new file: it may be long. */
const unknownSeconds = 60;
/** What batches of light files do: they wait for nothing. */
const lightBusy = 1;
/** Twice what the processors can do: a file waits for much of its time, and two that claim more than one processor each leave one idle by turns. */
const overload = 2;
/** Clusters of kubelets are the heaviest of all; an API server with its etcd takes a gigabyte. */
const mostAtATime = { kubelets: 1, "API servers": 2 };

/**
 * Heavy files alone, light ones together. Files of which the run has no test are in none.
 *
 * @param {readonly string[]} files
 * @param {Floor} floor
 * @param {{ parts: readonly number[], serversOf?: (file: string) => Servers | undefined }} about parts: those of this run
 * @returns {Batch[]} each other file in exactly one, the longest first
 */
export function batchesOf(files, floor, { parts, serversOf = () => undefined }) {
  const seconds = (/** @type {string} */ file) =>
    (floor[file]?.seconds ?? unknownSeconds) * shareOf(file, floor, parts);
  const given = files.filter((file) => shareOf(file, floor, parts) > 0);
  const isHeavy = (/** @type {string} */ file) =>
    seconds(file) >= heavySeconds || serversOf(file) !== undefined;
  const heavy = given.filter(isHeavy).map((file) => {
    const servers = serversOf(file);
    const busy = busyOf(floor[file]);
    return { files: [file], seconds: seconds(file), busy, ...(servers && { servers }) };
  });
  const light = given.filter((file) => !isHeavy(file));
  return [...heavy, ...together(light, seconds)].sort((one, other) => other.seconds - one.seconds);
}

/**
 * @param {string} file
 * @param {Floor} floor
 * @param {readonly number[]} parts
 * @returns {number} of the tests of a file how many a run has, 0 to 1
 */
function shareOf(file, floor, parts) {
  const cut = cutOf(file);
  const tests = floor[file]?.tests;
  if (cut === undefined || tests === undefined) return 1;
  return (dueIn(cut, tests, parts) ?? tests) / tests;
}

/**
 * @param {import("./files.mjs").Expected | undefined} expected
 * @returns {number} processors, as many as one where nothing is known
 */
function busyOf({ seconds, processorSeconds } = { tests: 0 }) {
  return seconds && processorSeconds !== undefined ? processorSeconds / seconds : 1;
}

/**
 * Which batch to begin beside those that run: the one that, with all that may not run beside it, takes longest until the end. None
 * while the processors have enough to do, and while all that wait need servers that are busy.
 *
 * @template {Batch} Item
 * @param {readonly Item[]} waiting
 * @param {readonly Batch[]} running
 * @param {Room} room
 * @returns {Item | undefined}
 */
export function nextOf(waiting, running, { processors, workers }) {
  if (running.length >= workers) return undefined;
  const load = running.reduce((sum, { busy }) => sum + busy, 0);
  const longest = (/** @type {Item} */ batch) => secondsBehind(batch, waiting);
  return [...waiting]
    .sort((one, other) => longest(other) - longest(one))
    .filter(({ servers }) => hasServers(servers, running))
    .find(({ busy }) => running.length === 0 || load + busy <= processors * overload);
}

/**
 * @param {Batch} batch
 * @param {readonly Batch[]} waiting with the batch
 * @returns {number} how long it takes until it and what has to wait for its servers have ended
 */
function secondsBehind({ seconds, servers }, waiting) {
  if (servers === undefined) return seconds;
  const all = waiting.filter((one) => one.servers === servers);
  const sum = all.reduce((total, one) => total + one.seconds, 0);
  return Math.max(seconds, sum / mostAtATime[servers]) + seconds / 1000;
}

/**
 * @param {Servers | undefined} servers
 * @param {readonly Batch[]} running
 */
function hasServers(servers, running) {
  if (servers === undefined) return true;
  return running.filter((one) => one.servers === servers).length < mostAtATime[servers];
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
    busy: lightBusy,
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
