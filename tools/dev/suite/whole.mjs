// The whole suite: every test file and every check, in several processes side by side.

import { availableParallelism } from "node:os";
import { compiledOf, readFloor, testFiles } from "./files.mjs";
import { mochaArgs, readReport } from "./mocha.mjs";
import { lackOfHosts } from "../../toolchain/host-parts.mjs";
import { sortByNeeds } from "./needs.mjs";
import { batchesOf } from "./plan.mjs";
import { processorMs } from "./processor.mjs";
import { lossesOf, slowest, verdictOf } from "./verdict.mjs";
import { workThrough, Workplace } from "./workers.mjs";

/** @typedef {import("./verdict.mjs").Outcome} Outcome */
/** @typedef {import("./verdict.mjs").Verdict} Verdict */

/** Far above what the longest file takes on a busy machine: whoever hangs is told by its own test before. */
const deadlineMs = 45 * 60_000;
const shownFiles = 20;
/** Some files start a control plane, which takes a gigabyte; the longest file bounds the whole anyway. */
const mostWorkers = 8;

/** The seconds are for the order only. */
const checks = [
  { name: "lint", args: ["node_modules/eslint/bin/eslint.js", "."], seconds: 60 },
  { name: "format", args: ["node_modules/prettier/bin/prettier.cjs", "--check", "."], seconds: 20 },
  {
    name: "types of the tools",
    args: ["node_modules/typescript-native/bin/tsc", "-p", "tsconfig.tools.json"],
    seconds: 15,
  },
];

/** What the floor calls needs. */
const lacks = { hosts: lackOfHosts };

/**
 * Runs everything and shows each process's output when it has ended, failures and faults once more
 * after all of them.
 *
 * @param {string} node
 * @param {{ cwd: string, env: NodeJS.ProcessEnv }} surroundings
 * @returns {Promise<Verdict & { outcomes: Outcome[], leftOut: string[] }>}
 */
export async function runWhole(node, surroundings) {
  const { runnable: floor, leftOut } = await sortByNeeds(readFloor(), lacks, surroundings.env);
  const files = testFiles().filter((file) => !leftOut.some((one) => one.file === file));
  const batches = batchesOf(files, floor);
  const tasks = [...checks, ...batches].sort((one, other) => other.seconds - one.seconds);
  const workers = workersFrom(surroundings.env["CAPSTAN_TEST_WORKERS"]);
  const place = new Workplace();
  const stop = () => {
    place.close();
    process.exit(130);
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  let done = 0;
  const show = (
    /** @type {string} */ name,
    /** @type {{ ms: number, output: string }} */ ended,
  ) => {
    done += 1;
    const seconds = (ended.ms / 1000).toFixed(1);
    say(`\n[${done} of ${tasks.length}] ${name}: ${seconds} s\n${ended.output.trimEnd()}\n`);
  };
  try {
    const ended = await workThrough(tasks, workers, (task) =>
      "name" in task
        ? runCheck(task, { place, node, surroundings, show })
        : runBatch(task, { place, node, surroundings, show }),
    );
    return { ...conclude(ended, floor), leftOut: leftOut.map(({ line }) => line) };
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
    place.close();
  }
}

/**
 * @typedef {object} Bench where and how tasks are run
 * @property {Workplace} place
 * @property {string} node
 * @property {{ cwd: string, env: NodeJS.ProcessEnv }} surroundings
 * @property {(name: string, ended: { ms: number, output: string }) => void} show
 */

/** @typedef {{ verdict: Verdict, outcome?: Outcome }} Ended */

/**
 * @param {{ name: string, args: readonly string[] }} check
 * @param {Bench} bench
 * @returns {Promise<Ended>}
 */
async function runCheck({ name, args }, { place, node, surroundings, show }) {
  const ended = await place.run({ program: node, args, deadlineMs }, surroundings);
  show(name, ended);
  return ended.code === 0
    ? { verdict: { passed: 1, failed: 0, faults: [] } }
    : { verdict: { passed: 0, failed: 1, faults: [`${name}: ended with ${ended.code}`] } };
}

/**
 * @param {import("./plan.mjs").Batch} batch
 * @param {Bench} bench
 * @returns {Promise<Ended>}
 */
async function runBatch({ files }, { place, node, surroundings, show }) {
  const reportFile = `${place.freshPath()}.json`;
  const args = mochaArgs(reportFile, files.map(compiledOf));
  const { code, isOverdue, ...ended } = await place.run(
    { program: node, args, deadlineMs },
    surroundings,
  );
  show(files.length === 1 ? String(files[0]) : `${files.length} light files`, ended);
  const outcome = { files, code, isOverdue, ...readReport(reportFile) };
  return { verdict: verdictOf(outcome), outcome };
}

/**
 * @param {readonly Ended[]} ended
 * @param {import("./files.mjs").Floor} floor
 */
function conclude(ended, floor) {
  const outcomes = ended.flatMap(({ outcome }) => outcome ?? []);
  const verdicts = ended.map(({ verdict }) => verdict);
  const losses = lossesOf(outcomes, floor);
  const faults = [...verdicts.flatMap((verdict) => verdict.faults), ...losses];
  for (const { report } of outcomes) if (report?.failureText) say(report.failureText);
  say(
    `\nthe slowest files: time, time of processors\n${slowest(outcomes, shownFiles).join("\n")}\n`,
  );
  say(`processors: ${(processorMs() / 60_000).toFixed(1)} min`);
  return {
    passed: verdicts.reduce((sum, { passed }) => sum + passed, 0),
    failed: verdicts.reduce((sum, { failed }) => sum + failed, losses.length),
    faults,
    outcomes,
  };
}

/**
 * @param {string | undefined} text the user's
 * @returns {number} without it two more than there are cores, since many tests wait for others
 */
function workersFrom(text) {
  if (!text) return Math.min(availableParallelism() + 2, mostWorkers);
  const workers = Number(text);
  if (Number.isInteger(workers) && workers > 0) return workers;
  const hint = "set it to a whole number, or unset it to have what suits the machine";
  throw Object.assign(new Error(`CAPSTAN_TEST_WORKERS is ${text}`), { hint });
}

/** @param {string} text */
function say(text) {
  process.stdout.write(`${text}\n`);
}
