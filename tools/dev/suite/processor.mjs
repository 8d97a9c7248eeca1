// What work has cost the processors: where all of them are busy, that alone tells what makes a run long.

import { readFileSync } from "node:fs";

/** Milliseconds of a clock tick: USER_HZ is 100 wherever Node.js runs. Source: Linux, time(7). */
const tickMs = 10;

/**
 * @returns {number} what this process and all that it has waited for have cost the processors, in ms; where the
 *   kernel does not tell of children, only this process
 */
export function processorMs() {
  try {
    // Behind the name, which may hold anything, are state, ppid, …: utime, stime, cutime and cstime are the 12th
    // to the 15th. Source: Linux, proc_pid_stat(5).
    const told = readFileSync("/proc/self/stat", "utf8");
    const fields = told.slice(told.lastIndexOf(")") + 2).split(" ");
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * tickMs, 0);
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}
