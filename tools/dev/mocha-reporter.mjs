// mocha's spec output, plus the counts in a file for the test command.

import { writeFileSync } from "node:fs";
import Mocha from "mocha";

/** @typedef {{ passes: number, failures: number, pending: number }} Counts */

const patienceMs = 30_000;

/** Writes Counts as JSON to the file named by the reporter option `counts`. */
export default class CountingReporter extends Mocha.reporters.Spec {
  /**
   * @param {Mocha.Runner} runner
   * @param {Mocha.MochaOptions} options
   */
  constructor(runner, options) {
    super(runner, options);
    const save = (/** @type {Counts} */ counts) =>
      writeFileSync(options.reporterOptions.counts, JSON.stringify(counts));
    runner.once(Mocha.Runner.constants.EVENT_RUN_END, () => {
      const { passes, failures, pending } = this.stats;
      save({ passes, failures, pending });
      // mocha waits for whatever tests have left open, which could be for ever. An unreferenced timer
      // does not keep the process alive, so it fires only when something else does.
      setTimeout(() => {
        const open = process.getActiveResourcesInfo().join(", ");
        console.error(`the tests have ended, but something keeps the process alive: ${open}`);
        // In the counts, since mocha overrides the exit code.
        save({ passes, failures: failures + 1, pending });
        process.exit();
      }, patienceMs).unref();
    });
  }
}
