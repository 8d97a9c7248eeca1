// mocha's spec output under the names of the files, plus a report in a file for the test command.

import { writeFileSync } from "node:fs";
import { format } from "node:util";
import Mocha from "mocha";
import { sourceOf } from "./files.mjs";
import { cutCounts } from "./parts.mjs";
import { processorMs } from "./processor.mjs";

/** @typedef {import("./verdict.mjs").Report} Report */

const patienceMs = 30_000;

/** Writes a Report as JSON to the file named by the reporter option `report`. */
export default class ReportingReporter extends Mocha.reporters.Spec {
  /**
   * @param {Mocha.Runner} runner
   * @param {Mocha.MochaOptions} options
   */
  constructor(runner, options) {
    super(runner, options);
    const { EVENT_RUN_END } = Mocha.Runner.constants;
    const files = countByFile(runner);
    const save = (/** @type {Partial<Report>} */ more) => {
      const { passes, failures, pending } = this.stats;
      for (const [source, count] of cutCounts) {
        files[source] = { tests: 0, ms: 0, processorMs: 0, ...files[source], ...count };
      }
      const report = { passes, failures, pending, files, failureText: this.failureText(), ...more };
      writeFileSync(options.reporterOptions.report, JSON.stringify(report));
    };
    runner.once(EVENT_RUN_END, () => {
      save({});
      // mocha waits for whatever tests have left open, which could be for ever. An unreferenced timer
      // does not keep the process alive, so it fires only when something else does.
      setTimeout(() => {
        const keptAlive = process.getActiveResourcesInfo().join(", ");
        console.error(`the tests have ended, but something keeps the process alive: ${keptAlive}`);
        // In the report, since mocha overrides the exit code.
        save({ keptAlive });
        process.exit();
      }, patienceMs).unref();
    });
  }

  /** What mocha prints about failures, once more. */
  failureText() {
    if (this.failures.length === 0) return "";
    const { Base } = Mocha.reporters;
    const print = Base.consoleLog;
    /** @type {string[]} */
    const lines = [];
    Base.consoleLog = (...args) => lines.push(format(...args));
    try {
      Base.list(this.failures);
    } finally {
      Base.consoleLog = print;
    }
    return lines.join("\n");
  }
}

/**
 * Counts the tests of each file and the time that it takes, hooks included, and names each file
 * before what it prints. Both times: how long it ran, and what it cost the processor.
 *
 * @param {Mocha.Runner} runner
 * @returns {Report["files"]} filled while the runner runs
 */
function countByFile(runner) {
  const { EVENT_SUITE_BEGIN, EVENT_SUITE_END, EVENT_TEST_BEGIN, EVENT_TEST_END } =
    Mocha.Runner.constants;
  /** @type {Report["files"]} */
  const files = {};
  let begunMs = 0;
  let begunProcessorMs = 0;
  let current = "";
  const entryOf = (/** @type {string | undefined} */ file) => {
    const source = sourceOf(file ?? "");
    return (files[source] ??= { tests: 0, ms: 0, processorMs: 0 });
  };
  const begin = (/** @type {Mocha.Suite | Mocha.Test} */ one) => {
    if (!isOutermost(one)) return;
    const source = sourceOf(one.file ?? "");
    if (source !== current) console.log(`  ${source}`);
    current = source;
    begunMs = performance.now();
    begunProcessorMs = processorMs();
  };
  const end = (/** @type {Mocha.Suite | Mocha.Test} */ one) => {
    if (!isOutermost(one)) return;
    const entry = entryOf(one.file);
    entry.ms += performance.now() - begunMs;
    entry.processorMs += processorMs() - begunProcessorMs;
  };
  runner.prependListener(EVENT_SUITE_BEGIN, begin);
  runner.prependListener(EVENT_TEST_BEGIN, begin);
  runner.on(EVENT_SUITE_END, end);
  runner.on(EVENT_TEST_END, (/** @type {Mocha.Test} */ test) => {
    end(test);
    if (test.state !== undefined) entryOf(test.file).tests += 1;
  });
  return files;
}

/** @param {Mocha.Suite | Mocha.Test} one */
function isOutermost({ parent }) {
  return parent?.root === true;
}
