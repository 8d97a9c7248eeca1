// The comparison: all contestants do the same steps, in turns.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { peakMemory, runToEnd } from "./measure.mjs";

/** @typedef {import("./contestants.mjs").Command} Command */
/** @typedef {import("./contestants.mjs").Contestant} Contestant */
/** @typedef {import("./contestants.mjs").Project} Project */
/** @typedef {import("./contestants.mjs").Step} Step */
/** @typedef {{ ms?: number, peakKib?: number | undefined }} Measured */

/** The steps in the order in which they are taken, with the words of the report. */
export const steps = {
  plan: "first plan",
  up: "create",
  planAgain: "plan, no change",
  upAgain: "up, no change",
  update: "update all in place",
  destroy: "destroy",
};

/**
 * @typedef {{ machines: number, repetition: number, step: string, contestant: string,
 *   ms?: number, peakKib?: number | undefined }} Sample repetition 0 warms up and measures memory; the others
 *   measure time
 */

/**
 * Measures every step of every contestant. They take turns at each step, A B C A B C, so that what
 * else the machine does meets all of them alike.
 *
 * @param {readonly Contestant[]} contestants
 * @param {{ sizes: readonly number[], repetitions: number, say(text: string): void }} options
 * @returns {AsyncGenerator<Sample[]>} one list for each round
 */
export async function* compare(contestants, { sizes, repetitions, say }) {
  for (const machines of sizes) {
    for (let repetition = 0; repetition <= repetitions; repetition += 1) {
      const what = repetition === 0 ? "memory" : `repetition ${repetition} of ${repetitions}`;
      say(`n = ${machines}: ${what}`);
      const samples = await round(contestants, machines, repetition === 0 ? peakMemory : wallTime);
      yield samples.map((sample) => ({ machines, repetition, ...sample }));
    }
  }
}

/**
 * @param {Command} command
 * @returns {Promise<Measured>}
 */
async function wallTime(command) {
  return { ms: (await runToEnd(command)).ms };
}

/**
 * All steps once, in fresh folders.
 *
 * @param {readonly Contestant[]} contestants
 * @param {number} machines
 * @param {(command: Command) => Promise<Measured>} measure
 */
async function round(contestants, machines, measure) {
  const folder = mkdtempSync(join(tmpdir(), "capstan-bench-"));
  try {
    /** @type {{ contestant: Contestant, project: Project }[]} */
    const projects = [];
    for (const [index, contestant] of contestants.entries()) {
      const own = join(folder, String(index));
      mkdirSync(own);
      projects.push({ contestant, project: await contestant.project(own, machines) });
    }
    const samples = [];
    for (const step of /** @type {Step[]} */ (Object.keys(steps))) {
      for (const { contestant, project } of projects) {
        if (step === "update") project.grow();
        samples.push({
          step,
          contestant: contestant.name,
          ...(await measure(project.commands[step])),
        });
      }
    }
    return samples;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
