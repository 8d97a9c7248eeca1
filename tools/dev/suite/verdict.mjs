// Whether a run of the tests proves what it should. Pure.

/** @typedef {import("./files.mjs").Floor} Floor */

/**
 * @typedef {{ tests: number, ms: number, processorMs: number } & Partial<import("./parts.mjs").CutCount>} FileReport tests
 *   are those that ran; the counts are of a file that is cut in parts
 */

/**
 * What the reporter of one mocha says when its tests have ended.
 *
 * @typedef {object} Report
 * @property {number} passes
 * @property {number} failures of tests and hooks
 * @property {number} pending
 * @property {Record<string, FileReport>} files by source
 * @property {string} failureText what mocha prints about failures; empty without any
 * @property {string} [keptAlive] what had to be ended by force after the tests
 */

/**
 * How one mocha ended.
 *
 * @typedef {object} Outcome
 * @property {readonly string[]} files that it was given; none when it looked for them itself
 * @property {number} code
 * @property {boolean} isOverdue it was killed, since it took far too long
 * @property {Report} [report] missing when it died before its tests had ended
 */

/** @typedef {{ passed: number, failed: number, faults: string[] }} Verdict a fault counts as one that failed */

const update = "npm test -- --update-floor";

/**
 * A mocha that proves nothing fails: it died, skipped tests, or would not end.
 *
 * @param {Outcome} outcome
 * @returns {Verdict}
 */
export function verdictOf({ files, code, isOverdue, report }) {
  const name = files.length === 1 ? files[0] : files.length === 0 ? "mocha" : `${files[0]}, ...`;
  if (report === undefined) {
    const cause = isOverdue ? "was killed: it took too long" : `ended with ${code}`;
    return {
      passed: 0,
      failed: 1,
      faults: [`${name}: mocha ${cause}, and its tests had not ended`],
    };
  }
  const { passes, failures, pending, keptAlive } = report;
  const counts = Object.values(report.files);
  const hasNothingDue = counts.length > 0 && counts.every(({ due }) => due === 0);
  const faults = [
    pending > 0 && `${name}: ${pending} tests are pending`,
    keptAlive !== undefined && `${name}: something kept the process alive: ${keptAlive}`,
    passes + failures === 0 && !hasNothingDue && `${name}: no test ran`,
    code !== 0 && failures === 0 && `${name}: mocha ended with ${code} without a failing test`,
  ].filter((fault) => fault !== false);
  return { passed: passes, failed: failures + faults.length, faults };
}

/**
 * Compares what ran with the committed list: a file or a test that got lost unnoticed is a failure,
 * and so is a file that the list would not miss. Of a file that is cut in parts all tests have to be there, and those of this run's
 * parts to run.
 *
 * @param {readonly Outcome[]} outcomes of a run of all tests
 * @param {Floor} floor of the files that were to run
 * @returns {string[]} faults
 */
export function lossesOf(outcomes, floor) {
  /** @type {Record<string, FileReport>} */
  const ran = Object.assign({}, ...outcomes.map(({ report }) => report?.files ?? {}));
  // Of a mocha that died it has been said already.
  const dead = new Set(
    outcomes.filter(({ report }) => report === undefined).flatMap(({ files }) => files),
  );
  const lost = Object.entries(floor)
    .filter(([file]) => !dead.has(file))
    .flatMap(([file, { tests }]) => lossOf(file, tests, ran[file]));
  const unlisted = outcomes
    .flatMap(({ files }) => files)
    .filter((file) => floor[file] === undefined)
    .map((file) => `${file} is not in test/floor.json: ${update}`);
  return [...lost, ...unlisted];
}

/**
 * @param {string} file
 * @param {number} expected
 * @param {FileReport | undefined} report
 * @returns {string[]} a fault, if any
 */
function lossOf(
  file,
  expected,
  { tests, registered, parts, due } = { tests: 0, ms: 0, processorMs: 0 },
) {
  if (registered === undefined || due === undefined) {
    if (tests >= expected) return [];
    return [`${file}: ${tests} tests ran, ${expected} have to; if that is meant: ${update}`];
  }
  if (registered < expected) {
    return [
      `${file}: it has ${registered} tests, ${expected} have to be there; if that is meant: ${update}`,
    ];
  }
  if (tests < due) return [`${file}: ${tests} tests ran, ${due} of its part have to`];
  if (parts?.every((count) => count === 0)) {
    return [`${file}: no test of it is in a part: its titles and tools/dev/suite/tiers.mjs differ`];
  }
  return [];
}

/**
 * @param {readonly Outcome[]} outcomes
 * @param {number} count
 * @returns {string[]} lines, the slowest file first: how long it took, and what it cost the processors
 */
export function slowest(outcomes, count) {
  return outcomes
    .flatMap(({ report }) => Object.entries(report?.files ?? {}))
    .sort(([, one], [, other]) => other.ms - one.ms)
    .slice(0, count)
    .map(([file, { ms, processorMs, tests }]) => {
      const [took, cost] = [ms, processorMs].map((one) => (one / 1000).toFixed(1).padStart(7));
      return `${took} s ${cost} s  ${file} (${tests} tests)`;
    });
}
