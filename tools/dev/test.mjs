// `npm test`: sets up, checks format, lint and types, runs the tests in several processes, and ends with the line `N passed, N
// failed`. It has a quarter of the tests that take turns, and `npm run test:all`, which is `npm test -- --all`, has all. `npm test --
// <args>` runs one mocha only, with these arguments; test files may be named as sources. `npm test -- --update-floor` writes down
// which tests there are and how heavy they are.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { exitWith, explained, run, withPathFirst } from "../toolchain/run.mjs";
import { installRealParts } from "./real-parts.mjs";
import { root, setup } from "./setup.mjs";
import { allParts, drawnParts, readKnown, recordRun, waitedTooLong } from "./suite/draw.mjs";
import { compiledOf, floorOf, readFloor, testFiles, writeFloor } from "./suite/files.mjs";
import { mochaArgs, readReport } from "./suite/mocha.mjs";
import { orderVariable, seedFrom } from "./suite/order.mjs";
import { partsFrom, partsVariable } from "./suite/parts.mjs";
import { verdictOf } from "./suite/verdict.mjs";
import { runWhole } from "./suite/whole.mjs";

/** @typedef {import("./suite/verdict.mjs").Outcome} Outcome */
/** @typedef {import("./suite/files.mjs").Weight} Weight */
/** @typedef {import("./suite/verdict.mjs").Verdict} Verdict */

const reportFile = join(root, ".setup", "mocha-report.json");
/** What files took on this machine when a run of all files last had them. */
const measuredFile = join(root, ".setup", "test-weights.json");
/** Laws take so many of their histories in each run of all files; `npm run test:all` has them all. */
const runsTimes = 1 / 3;

/**
 * One mocha; its output is shown at once.
 *
 * @param {string} node
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Outcome>}
 */
async function runMocha(node, args, env) {
  rmSync(reportFile, { force: true });
  const options = { cwd: root, env, stdio: /** @type {const} */ ("inherit") };
  const { code } = await run(node, mochaArgs(reportFile, args), options);
  return { files: [], code, isOverdue: false, ...readReport(reportFile) };
}

/**
 * @param {string} node
 * @param {readonly string[]} args the user's
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Verdict>}
 */
async function runNamed(node, args, env) {
  const given = args.map(compiledOf);
  const namesFiles = given.some((arg) => /^[^-].*\.js$/.test(arg));
  const files = namesFiles ? [] : testFiles().map(compiledOf);
  return verdictOf(await runMocha(node, [...files, ...given], env));
}

/**
 * @param {string} node
 * @param {NodeJS.ProcessEnv} env
 * @param {{ isWhole: boolean, seed: number }} about whole: all parts, and laws in full
 * @returns {Promise<Verdict>}
 */
async function runAll(node, env, { isWhole, seed }) {
  const known = await readKnown(root, env);
  const given = partsFrom(env[partsVariable]);
  const parts = isWhole ? allParts : (given ?? drawnParts(known, seed));
  const repeat = isWhole ? "npm run test:all has all" : `${partsVariable}=${parts} has the same`;
  process.stdout.write(`parts of the tests that take turns: ${parts.join(", ")}; ${repeat}\n`);
  const measured = readMeasured();
  const { weights, leftOut, ...verdict } = await runWhole(node, {
    cwd: root,
    env: isWhole ? env : { CAPSTAN_RUNS_TIMES: String(runsTimes), ...env },
    parts,
    measured,
  });
  if (!isWhole) {
    writeFileSync(measuredFile, JSON.stringify({ ...measured, ...weights }));
    if (env["CAPSTAN_RUNS_TIMES"] === undefined)
      leftOut.push("laws: two thirds of their histories; npm run test:all runs them");
  }
  for (const line of leftOut) process.stdout.write(`not run: ${line}\n`);
  const [commit] = known.commits;
  if (commit === undefined) return verdict;
  const past = { commit, parts, passed: verdict.failed === 0 };
  recordRun(past, env);
  const faults = waitedTooLong({ ...known, runs: [...known.runs, past] });
  return {
    passed: verdict.passed,
    failed: verdict.failed + faults.length,
    faults: [...verdict.faults, ...faults],
  };
}

/**
 * Counts the tests of each file without running them.
 *
 * @param {string} node
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<Verdict>}
 */
async function updateFloor(node, env) {
  const files = testFiles();
  const outcome = await runMocha(node, ["--dry-run", ...files.map(compiledOf)], env);
  const verdict = verdictOf(outcome);
  if (outcome.report === undefined || verdict.failed > 0) return verdict;
  writeFloor(floorOf(outcome.report.files, readMeasured(), readFloor()));
  return verdict;
}

/** @returns {Record<string, Weight>} */
function readMeasured() {
  try {
    return JSON.parse(readFileSync(measuredFile, "utf8"));
  } catch {
    return {}; // There was no whole run yet.
  }
}

/**
 * @param {readonly string[]} args the user's
 * @returns {Promise<Verdict>}
 */
async function test(args) {
  const { node } = await setup();
  const seed = seedFrom(process.env["CAPSTAN_SEED"]);
  const env = { ...withPathFirst(process.env, dirname(node)), [orderVariable]: String(seed) };
  if (args.includes("--update-floor")) return updateFloor(node, env);
  await installRealParts(process.env);
  const order = `order: CAPSTAN_SEED=${seed}; to repeat it, set that before npm test`;
  process.stdout.write(`${order}\n`);
  const isWhole = args.includes("--all");
  const isNamed = args.length > 0 && !isWhole;
  const verdict = await (isNamed
    ? runNamed(node, args, env)
    : runAll(node, env, { isWhole, seed }));
  if (verdict.failed > 0) process.stdout.write(`${order}\n`);
  return verdict;
}

await exitWith(async () => {
  /** @type {Verdict} */
  const { passed, failed, faults } = await test(process.argv.slice(2)).catch((error) => {
    process.stderr.write(`${explained(error)}\n`);
    return { passed: 0, failed: 1, faults: [] };
  });
  for (const fault of faults) process.stdout.write(`fault: ${fault}\n`);
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed > 0 ? 1 : 0;
});
