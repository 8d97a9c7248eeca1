// What work has cost the processors: where all of them are busy, that alone tells what makes a run long.

import { readFileSync } from "node:fs";

/**
 * @typedef {object} Process
 * @property {number} pid
 * @property {number} parent
 * @property {string} begun tells two processes with one pid apart
 * @property {number} ms of the processors, with those of children that it has waited for
 */

/** Milliseconds of a clock tick: USER_HZ is 100 wherever Node.js runs. Source: Linux, time(7). */
const tickMs = 10;

/**
 * @returns {number} what this process and all that it has waited for have cost the processors, in ms; where the
 *   kernel does not tell of children, only this process
 */
export function processorMs() {
  const own = processIn(process.pid);
  if (own !== undefined) return own.ms;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * @param {number} pid
 * @returns {Process | undefined} undefined once it has ended, and where there is no /proc
 */
export function processIn(pid) {
  try {
    // Behind the name, which may hold anything: state, ppid, ...; utime, stime, cutime and cstime are the 12th to the 15th, and
    // the begin is the 20th. Source: Linux, proc_pid_stat(5).
    const told = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = told.slice(told.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, text) => sum + Number(text), 0);
    return { pid, parent: Number(fields[1]), begun: fields[19] ?? "", ms: ticks * tickMs };
  } catch {
    return undefined;
  }
}
