// The whole suite: every check, and every test file with those of its tests that are in the run, in several processes side by side.

import { availableParallelism } from "node:os";
import { compiledOf, readFloor, testFiles, weighed } from "./files.mjs";
import { mochaArgs, readReport } from "./mocha.mjs";
import { lackOfHosts } from "../../toolchain/host-parts.mjs";
import { sortByNeeds } from "./needs.mjs";
import { partsVariable } from "./parts.mjs";
import { batchesOf, nextOf } from "./plan.mjs";
import { processorMs } from "./processor.mjs";
import { serversIn } from "./servers.mjs";
import { notRun } from "./tiers.mjs";
import { lossesOf, slowest, verdictOf } from "./verdict.mjs";
import { LoadMeter, weightOf } from "./weight.mjs";
import { workThrough, Workplace } from "./workers.mjs";

/** @typedef {import("./files.mjs").Floor} Floor */
/** @typedef {import("./files.mjs").Weight} Weight */
/** @typedef {import("./verdict.mjs").Outcome} Outcome */
/** @typedef {import("./verdict.mjs").Verdict} Verdict */

/** Far above what the longest file takes on a busy machine: whoever hangs is told by its own test before. */
const deadlineMs = 45 * 60_000;
const shownFiles = 20;
/** Each has some hundred megabytes; which of them run together is nextOf's to say. */
const mostWorkers = 8;

/** Their weights are for the order only. */
const checks = [
  { name: "lint", args: ["node_modules/eslint/bin/eslint.js", "."], seconds: 50 },
  { name: "format", args: ["node_modules/prettier/bin/prettier.cjs", "--check", "."], seconds: 20 },
  {
    name: "types of the tools",
    args: ["node_modules/typescript-native/bin/tsc", "-p", "tsconfig.tools.json"],
    seconds: 6,
  },
].map((check) => ({ ...check, files: [], busy: 1 }));

/** What the floor calls needs. */
const lacks = { hosts: lackOfHosts };

/**
 * Runs everything and shows each process's output when it has ended, failures and faults once more
 * after all of them.
 *
 * @param {string} node
 * @param {Surroundings & { parts: readonly number[], measured: Record<string, Weight> }} surroundings parts of the tests that take
 *   turns; measured: what files took here before
 * @returns {Promise<Verdict & { weights: Record<string, Weight>, leftOut: string[] }>}
 */
export async function runWhole(node, { parts, measured, ...surroundings }) {
  const needs = await sortByNeeds(readFloor(), lacks, surroundings.env);
  const floor = weighed(needs.runnable, measured);
  const files = testFiles().filter((file) => !needs.leftOut.some((one) => one.file === file));
  const batches = batchesOf(files, floor, { parts, serversOf: serversIn(surroundings.cwd) });
  const tasks = [...checks, ...batches];
  const workers = workersFrom(surroundings.env["CAPSTAN_TEST_WORKERS"]);
  const room = { processors: availableParallelism(), workers };
  const place = new Workplace();
  const meter = new LoadMeter();
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
  const env = { ...surroundings.env, [partsVariable]: parts.join(",") };
  const bench = { place, meter, node, surroundings: { ...surroundings, env }, show };
  try {
    const ended = await workThrough(
      tasks,
      (waiting, running) => nextOf(waiting, running, room),
      (task) => ("name" in task ? runCheck(task, bench) : runBatch(task, bench)),
    );
    const begun = new Set(batches.flatMap((batch) => batch.files));
    const left = files.filter((file) => !begun.has(file));
    const ran = Object.entries(floor).filter(([file]) => !left.includes(file));
    const { outcomes, ...verdict } = conclude(ended, Object.fromEntries(ran));
    const reports = Object.assign({}, ...outcomes.map(({ report }) => report?.files));
    return {
      ...verdict,
      weights: Object.assign({}, ...ended.map(({ weights }) => weights)),
      leftOut: [...needs.leftOut.map(({ line }) => line), ...notRun(floor, reports)],
    };
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
    meter.close();
    place.close();
  }
}

/** @typedef {{ cwd: string, env: NodeJS.ProcessEnv }} Surroundings */

/**
 * @typedef {object} Bench where and how tasks are run
 * @property {Workplace} place
 * @property {LoadMeter} meter
 * @property {string} node
 * @property {Surroundings} surroundings
 * @property {(name: string, ended: { ms: number, output: string }) => void} show
 */

/** @typedef {{ verdict: Verdict, outcome?: Outcome, orphansMs?: number, weights?: Record<string, Weight> }} Ended */

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
async function runBatch({ files }, { place, meter, node, surroundings, show }) {
  const begun = meter.now();
  const reportFile = `${place.freshPath()}.json`;
  const args = mochaArgs(reportFile, files.map(compiledOf));
  const { code, isOverdue, ...ended } = await place.run(
    { program: node, args, deadlineMs },
    surroundings,
  );
  show(files.length === 1 ? String(files[0]) : `${files.length} light files`, ended);
  const outcome = { files, code, isOverdue, ...readReport(reportFile) };
  const [only] = Object.values(outcome.report?.files ?? {});
  if (files.length === 1 && only !== undefined) only.processorMs += ended.orphansMs;
  const verdict = verdictOf(outcome);
  const slowdown = meter.slowdownSince(begun);
  // What waited in vain until it failed says nothing of the next run.
  const reports = verdict.failed > 0 ? {} : (outcome.report?.files ?? {});
  const weights = Object.entries(reports)
    .filter(([, { tests }]) => tests > 0)
    .map(([file, report]) => [file, weightOf(report, slowdown)]);
  const { orphansMs } = ended;
  return { verdict, outcome, orphansMs, weights: Object.fromEntries(weights) };
}

/**
 * @param {readonly Ended[]} ended
 * @param {Floor} floor of the files that were to run
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
  const orphansMs = ended.reduce((sum, one) => sum + (one.orphansMs ?? 0), 0);
  say(`processors: ${((processorMs() + orphansMs) / 60_000).toFixed(1)} min`);
  return {
    passed: verdicts.reduce((sum, { passed }) => sum + passed, 0),
    failed: verdicts.reduce((sum, { failed }) => sum + failed, losses.length),
    faults,
    outcomes,
  };
}

/**
 * @param {string | undefined} text the user's
 * @returns {number} without it as many as their weights let run
 */
function workersFrom(text) {
  if (!text) return Math.max(availableParallelism() + 1, mostWorkers);
  const workers = Number(text);
  if (Number.isInteger(workers) && workers > 0) return workers;
  const hint = "set it to a whole number, or unset it to have what suits the machine";
  throw Object.assign(new Error(`CAPSTAN_TEST_WORKERS is ${text}`), { hint });
}

/** @param {string} text */
function say(text) {
  process.stdout.write(`${text}\n`);
}
