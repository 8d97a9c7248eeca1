// `npm test`: sets up, checks format and lint, runs all tests, and ends with the line
// `N passed, N failed`. `npm test -- <args>` runs mocha only, with these arguments; test files may
// be named as sources.

import { readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { installRealParts } from "./real-parts.mjs";
import { exitWith, run, withPathFirst } from "../toolchain/run.mjs";
import { root, setup } from "./setup.mjs";

/** @typedef {{ passed: number, failed: number }} Counts */

const countsFile = join(root, ".setup", "mocha-counts.json");
const checks = [
  { name: "format", args: ["node_modules/prettier/bin/prettier.cjs", "--check", "."] },
  { name: "lint", args: ["node_modules/eslint/bin/eslint.js", "."] },
];

/**
 * @param {string} node
 * @param {readonly string[]} args
 * @returns {Promise<number>} exit code
 */
async function runShown(node, args) {
  const env = withPathFirst(process.env, dirname(node));
  return (await run(node, args, { cwd: root, env, stdio: "inherit" })).code;
}

/**
 * Runs format and lint; each counts as one.
 *
 * @param {string} node
 * @returns {Promise<Counts>}
 */
async function runChecks(node) {
  let failed = 0;
  for (const { name, args } of checks) {
    process.stdout.write(`\ncheck: ${name}\n`);
    if ((await runShown(node, args)) !== 0) failed++;
  }
  return { passed: checks.length - failed, failed };
}

/**
 * @param {string} node
 * @param {readonly string[]} args the user's
 * @returns {Promise<Counts>}
 */
async function runMocha(node, args) {
  const mochaArgs = args.map((arg) => arg.replace(/^(\.\/)?(test\/.*)\.ts$/, "dist/$2.js"));
  const namesFiles = mochaArgs.some((arg) => /^[^-].*\.js$/.test(arg));
  rmSync(countsFile, { force: true });
  const code = await runShown(node, [
    "node_modules/mocha/bin/mocha.js",
    ...["--reporter", "tools/dev/mocha-reporter.mjs", "--reporter-option", `counts=${countsFile}`],
    ...(namesFiles ? [] : ["dist/test/**/*.test.js"]),
    ...mochaArgs,
  ]);
  return judge(code, args.length === 0 ? readFloor() : 1);
}

/**
 * A run that proves nothing fails: mocha died, ran too few tests, or skipped some.
 *
 * @param {number} code mocha's exit code
 * @param {number} floor how many tests have to run
 * @returns {Counts}
 */
function judge(code, floor) {
  const { passes, failures, pending } = readCounts();
  const ran = passes + failures;
  const faults = [
    code !== 0 && failures === 0 && `mocha ended with ${code} without a failing test`,
    pending > 0 && `${pending} tests are pending`,
    ran < floor && `${ran} tests ran, at least ${floor} have to`,
  ].filter((fault) => fault !== false);
  for (const fault of faults) process.stderr.write(`test: ${fault}\n`);
  return { passed: passes, failed: failures + faults.length };
}

/**
 * @returns {{ passes: number, failures: number, pending: number }} all 0 when mocha did not finish
 */
function readCounts() {
  try {
    return JSON.parse(readFileSync(countsFile, "utf8"));
  } catch {
    return { passes: 0, failures: 0, pending: 0 };
  }
}

/**
 * The committed number of tests: losing some unnoticed, say by a wrong glob, is a failure.
 *
 * @returns {number}
 */
function readFloor() {
  return JSON.parse(readFileSync(join(root, "test", "floor.json"), "utf8")).tests;
}

await exitWith(async () => {
  const args = process.argv.slice(2);
  const { node } = await setup();
  await installRealParts(process.env);
  const checked = args.length === 0 ? await runChecks(node) : { passed: 0, failed: 0 };
  const tested = await runMocha(node, args);
  const failed = checked.failed + tested.failed;
  process.stdout.write(`${checked.passed + tested.passed} passed, ${failed} failed\n`);
  return failed > 0 ? 1 : 0;
});
