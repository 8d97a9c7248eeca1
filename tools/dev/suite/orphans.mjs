// What processes cost that outlive the one that started them, as hosts and API servers of a local cloud do: no process waits for them, so the
// kernel counts their time for none (processor.mjs). Samples find them, and what they do after the last sample is not counted.

import { readdirSync, readFileSync } from "node:fs";
import { processIn } from "./processor.mjs";

/** @typedef {import("./processor.mjs").Process} Process */

/** What the orphans of one job cost. Pure but for the memory of earlier samples. */
export class Orphans {
  #root;
  #isOurs;
  #endedMs = 0;
  /** The orphans of the last sample, by pid and begin. @type {Map<string, Process>} */
  #orphans = new Map();
  /** All that belongs to the job, as of the last sample. @type {Set<string>} */
  #members = new Set();

  /**
   * @param {number} root pid of the job's first process
   * @param {(pid: number) => boolean} isOurs asked about processes whose parent had ended before the first sample of them
   */
  constructor(root, isOurs) {
    this.#root = root;
    this.#isOurs = isOurs;
  }

  /** @returns {number} so far */
  get ms() {
    return [...this.#orphans.values()].reduce((sum, { ms }) => sum + ms, this.#endedMs);
  }

  /** @param {readonly Process[]} processes all of the machine */
  sample(processes) {
    const byPid = new Map(processes.map((one) => [one.pid, one]));
    const members = processes.filter((one) => this.#isMember(one, byPid));
    const pids = new Set(members.map(({ pid }) => pid));
    const orphans = new Map(
      members.filter((one) => !this.#isBelowRoot(one, byPid)).map((one) => [keyOf(one), one]),
    );
    for (const [key, { parent, ms }] of this.#orphans) {
      // An orphan's child that has ended is in what its parent has waited for.
      if (!orphans.has(key) && !pids.has(parent)) this.#endedMs += ms;
    }
    this.#orphans = orphans;
    this.#members = new Set(members.map(keyOf));
  }

  /**
   * @param {Process} process
   * @param {ReadonlyMap<number, Process>} byPid
   * @returns {boolean}
   */
  #isMember(process, byPid) {
    if (this.#members.has(keyOf(process)) || process.pid === this.#root) return true;
    const parent = byPid.get(process.parent);
    const isChild = parent !== undefined && parent !== process && this.#isMember(parent, byPid);
    return isChild || (process.parent <= 1 && this.#isOurs(process.pid));
  }

  /**
   * @param {Process} process
   * @param {ReadonlyMap<number, Process>} byPid
   * @returns {boolean}
   */
  #isBelowRoot({ pid, parent }, byPid) {
    if (pid === this.#root) return true;
    const above = byPid.get(parent);
    return above !== undefined && this.#isBelowRoot(above, byPid);
  }
}

/** @param {Process} process */
function keyOf({ pid, begun }) {
  return `${pid} ${begun}`;
}

/** @returns {Process[]} none where there is no /proc */
export function processesNow() {
  try {
    const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
    return pids.flatMap((pid) => processIn(pid) ?? []);
  } catch {
    return [];
  }
}

/**
 * @param {string} variable such as TMPDIR=/tmp/x
 * @returns {(pid: number) => boolean} whether a process was started with it
 */
export function startedWith(variable) {
  return (pid) => {
    try {
      return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(variable);
    } catch {
      return false;
    }
  };
}
