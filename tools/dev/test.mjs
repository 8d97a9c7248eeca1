// `npm test`: sets up, checks format, lint and types, runs all tests in several processes, and ends
// with the line `N passed, N failed`. `npm test -- <args>` runs one mocha only, with these arguments;
// test files may be named as sources. `npm test -- --update-floor` writes down which tests there are
// and how long they took.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { exitWith, explained, run, withPathFirst } from "../toolchain/run.mjs";
import { installRealParts } from "./real-parts.mjs";
import { root, setup } from "./setup.mjs";
import { compiledOf, floorOf, readFloor, testFiles, writeFloor } from "./suite/files.mjs";
import { mochaArgs, readReport } from "./suite/mocha.mjs";
import { orderVariable, seedFrom } from "./suite/order.mjs";
import { verdictOf } from "./suite/verdict.mjs";
import { runWhole } from "./suite/whole.mjs";

/** @typedef {import("./suite/verdict.mjs").Outcome} Outcome */
/** @typedef {import("./suite/verdict.mjs").Report} Report */
/** @typedef {import("./suite/verdict.mjs").Verdict} Verdict */

const reportFile = join(root, ".setup", "mocha-report.json");
/** What files took in the last whole run. */
const measuredFile = join(root, ".setup", "test-files.json");

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
 * @returns {Promise<Verdict>}
 */
async function runAll(node, env) {
  const { outcomes, leftOut, ...verdict } = await runWhole(node, { cwd: root, env });
  const files = Object.assign({}, ...outcomes.map(({ report }) => report?.files));
  writeFileSync(measuredFile, JSON.stringify(files));
  for (const line of leftOut) process.stdout.write(`not run: ${line}\n`);
  return verdict;
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

/** @returns {Report["files"]} */
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
  const verdict = args.length > 0 ? await runNamed(node, args, env) : await runAll(node, env);
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
