// Which part of the tests that take turns (tiers.mjs) a run has, and whether one has waited too long.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheRoot } from "../../toolchain/cache-root.mjs";
import { run } from "../../toolchain/run.mjs";
import { partCount } from "./tiers.mjs";

/**
 * A run of all files that came to its end.
 *
 * @typedef {object} PastRun
 * @property {string} commit that it was made at
 * @property {readonly number[]} parts that it had, all after `npm run test:all`
 * @property {boolean} passed
 */

/**
 * @typedef {object} Known
 * @property {readonly string[]} commits the last ones, the newest first; none without git
 * @property {readonly PastRun[]} runs on this machine, the newest last
 */

/** A run proves nothing of a commit on another branch, and little of one so many commits later. */
const commitsBack = 50;
const keptRuns = 100;
export const allParts = Array.from({ length: partCount }, (_, part) => part);

/**
 * The commit draws among the parts that the last three runs did not have. A part that failed is drawn again. Where no run is known,
 * as in a fresh clone on a new machine, the commit draws among all. Pure.
 *
 * @param {Known} known
 * @param {number} seed draws without git
 * @returns {number[]} one part, and those that would wait for longer than four runs otherwise, as after two runs at a time
 */
export function drawnParts(known, seed) {
  const drawn = drawnPart(known, seed);
  const commit = known.commits[0] ?? "";
  const runs = [...known.runs, { commit, parts: [drawn], passed: true }];
  return [drawn, ...overdueParts({ ...known, runs })].sort();
}

/**
 * @param {Known} known
 * @param {number} seed
 * @returns {number}
 */
function drawnPart(known, seed) {
  const runs = runsBehind(known);
  const last = runs.at(-1);
  const [failed, ...more] = last?.passed === false ? last.parts : [];
  if (failed !== undefined && more.length === 0) return failed;
  const recent = partsIn(runs, partCount - 1);
  const waiting = allParts.filter((part) => !recent.has(part));
  const among = waiting.length > 0 ? waiting : allParts;
  const drawn = known.commits[0] === undefined ? seed : parseInt(known.commits[0].slice(0, 8), 16);
  return among[drawn % among.length] ?? 0;
}

/**
 * Pure.
 *
 * @param {Known} known with the run that has just ended
 * @returns {string[]} faults
 */
export function waitedTooLong(known) {
  return overdueParts(known).map(
    (part) =>
      `part ${part} of the tests was in none of the last ${partCount} runs: npm run test:all`,
  );
}

/**
 * @param {Known} known
 * @returns {number[]} parts that none of the last four runs had; none while fewer are known
 */
function overdueParts(known) {
  const runs = runsBehind(known).filter(({ passed }) => passed);
  if (runs.length < partCount) return [];
  const recent = partsIn(runs, partCount);
  return allParts.filter((part) => !recent.has(part));
}

/**
 * @param {Known} known
 * @returns {PastRun[]} of the last commits
 */
function runsBehind({ commits, runs }) {
  return runs.filter(({ commit }) => commits.includes(commit));
}

/**
 * @param {readonly PastRun[]} runs
 * @param {number} count of the last ones that passed
 */
function partsIn(runs, count) {
  const passed = runs.filter((one) => one.passed);
  return new Set(passed.slice(-count).flatMap(({ parts }) => parts));
}

/**
 * @param {string} root of the repository
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Known>}
 */
export async function readKnown(root, env) {
  const git = await run("git", ["log", "-n", String(commitsBack), "--format=%H"], {
    cwd: root,
    env,
  }).catch(() => undefined);
  const commits = git?.code === 0 ? git.output.split("\n").filter((line) => line !== "") : [];
  return { commits, runs: readRuns(recordIn(env)) };
}

/**
 * Writes a run down where the next ones look, whatever clone they are in.
 *
 * @param {PastRun} past
 * @param {NodeJS.ProcessEnv} env
 */
export function recordRun(past, env) {
  const file = recordIn(env);
  mkdirSync(dirname(file), { recursive: true });
  const fresh = `${file}.${process.pid}`;
  writeFileSync(fresh, JSON.stringify([...readRuns(file), past].slice(-keptRuns)));
  renameSync(fresh, file);
}

/**
 * @param {string} file
 * @returns {PastRun[]}
 */
function readRuns(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return []; // No run is known.
  }
}

/** @param {NodeJS.ProcessEnv} env */
function recordIn(env) {
  return join(cacheRoot(env), "test-runs.json");
}
