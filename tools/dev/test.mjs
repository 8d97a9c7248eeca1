// `npm test`: sets up, checks format, lint and types, runs all tests in as many processes as there
// are cores, and ends with the line `N passed, N failed`. `npm test -- <args>` runs one mocha only,
// with these arguments; test files may be named as sources. `npm test -- --update-floor` writes down
// which tests there are and how long they took.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { exitWith, run, withPathFirst } from "../toolchain/run.mjs";
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
  const { outcomes, ...verdict } = await runWhole(node, { cwd: root, env });
  const files = Object.assign({}, ...outcomes.map(({ report }) => report?.files));
  writeFileSync(measuredFile, JSON.stringify(files));
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

await exitWith(async () => {
  const args = process.argv.slice(2);
  const { node } = await setup();
  const seed = seedFrom(process.env.CAPSTAN_SEED);
  const env = { ...withPathFirst(process.env, dirname(node)), [orderVariable]: String(seed) };
  const isUpdate = args.includes("--update-floor");
  if (!isUpdate) await installRealParts(process.env);
  const repeat = `order: CAPSTAN_SEED=${seed} (to repeat it, set that before npm test)`;
  process.stdout.write(`${repeat}\n`);
  const verdict = isUpdate
    ? await updateFloor(node, env)
    : args.length > 0
      ? await runNamed(node, args, env)
      : await runAll(node, env);
  for (const fault of verdict.faults) process.stdout.write(`fault: ${fault}\n`);
  if (verdict.failed > 0) process.stdout.write(`${repeat}\n`);
  process.stdout.write(`${verdict.passed} passed, ${verdict.failed} failed\n`);
  return verdict.failed > 0 ? 1 : 0;
});
