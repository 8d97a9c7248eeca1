// Runs jobs side by side, each in a process group and with a folder for temporary files of its own.

import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exitCode } from "../../toolchain/run.mjs";
import { Orphans, processesNow, startedWith } from "./orphans.mjs";

/**
 * @typedef {object} Job
 * @property {string} program
 * @property {readonly string[]} args
 * @property {number} deadlineMs after which it is killed
 */

/**
 * @typedef {object} Ended
 * @property {number} code 128 + n after signal n
 * @property {boolean} isOverdue
 * @property {string} output both outputs, as they came
 * @property {number} ms
 * @property {number} orphansMs what processes cost the processors that had outlived the one that started them
 */

const sampleMs = 2_000;

/**
 * Works through a list, side by side.
 *
 * @template Item, Result
 * @param {readonly Item[]} items
 * @param {(waiting: readonly Item[], running: readonly Item[]) => Item | undefined} next which to begin; asked again whenever one has
 *   begun or ended, and has to name one where none runs
 * @param {(item: Item) => Promise<Result>} work
 * @returns {Promise<Result[]>} in the order of the items
 */
export async function workThrough(items, next, work) {
  /** @type {Map<Item, Result>} */
  const results = new Map();
  const waiting = new Set(items);
  /** @type {Map<Item, Promise<void>>} */
  const running = new Map();
  const begin = (/** @type {Item} */ item) => {
    waiting.delete(item);
    const ended = work(item).then((result) => {
      results.set(item, result);
      running.delete(item);
    });
    running.set(item, ended);
  };
  while (waiting.size > 0 || running.size > 0) {
    const item = next([...waiting], [...running.keys()]);
    if (item !== undefined) begin(item);
    else if (running.size > 0) await Promise.race(running.values());
    else throw new Error(`nothing runs, and none of ${waiting.size} tasks may begin`);
  }
  return items.map((item) => /** @type {Result} */ (results.get(item)));
}

/**
 * What programs written in Go (API servers, etcd, the engine) take for their garbage collection: they are many and
 * live shortly, so room is cheaper than time. Source: the Go runtime, GOGC.
 */
const seldom = "400";

/** A folder for what jobs write, and an end for those that run. */
export class Workplace {
  #folder = mkdtempSync(join(tmpdir(), "capstan-"));
  #count = 0;
  /** By the process groups of jobs that run. @type {Map<number, Orphans>} */
  #groups = new Map();
  #sampler = setInterval(() => this.#sample(), sampleMs).unref();

  constructor() {
    // Servers that must not be root have their files below.
    chmodSync(this.#folder, 0o711);
  }

  /** @returns {string} a path in the folder that nothing else has */
  freshPath() {
    this.#count += 1;
    return join(this.#folder, String(this.#count));
  }

  /**
   * Runs a job to its end. What it leaves in its process group and its temporary folder is removed.
   *
   * @param {Job} job
   * @param {{ cwd: string, env: NodeJS.ProcessEnv }} surroundings
   * @returns {Promise<Ended>}
   */
  async run({ program, args, deadlineMs }, { cwd, env }) {
    const temporary = this.freshPath();
    mkdirSync(temporary, { mode: 0o711 });
    // A file, not a pipe: what outlives the job cannot hold it open, and nothing written is lost.
    const outputFile = `${temporary}.log`;
    const output = openSync(outputFile, "w");
    const begunMs = performance.now();
    const child = spawn(program, args, {
      cwd,
      env: { GOGC: seldom, ...env, TMPDIR: temporary },
      stdio: ["ignore", output, output],
      detached: true,
    });
    closeSync(output);
    const { pid } = child;
    const orphans = new Orphans(pid ?? 0, startedWith(`TMPDIR=${temporary}`));
    if (pid !== undefined) this.#groups.set(pid, orphans);
    let isOverdue = false;
    const deadline = setTimeout(() => {
      isOverdue = true;
      if (pid !== undefined) endTree(pid);
    }, deadlineMs);
    /** @type {number} */
    const code = await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (status, signal) => resolve(exitCode(status, signal)));
    });
    clearTimeout(deadline);
    if (pid !== undefined) {
      this.#sample();
      endGroup(pid);
      this.#groups.delete(pid);
    }
    remove(temporary);
    const ms = performance.now() - begunMs;
    const written = readFileSync(outputFile, "utf8");
    return { code, isOverdue, output: written, ms, orphansMs: orphans.ms };
  }

  #sample() {
    if (this.#groups.size === 0) return;
    const processes = processesNow();
    for (const orphans of this.#groups.values()) orphans.sample(processes);
  }

  /** Ends what still runs and removes the folder. */
  close() {
    clearInterval(this.#sampler);
    for (const group of this.#groups.keys()) endTree(group);
    remove(this.#folder);
  }
}

/** @param {number} pid of the first process of the group */
function endGroup(pid) {
  kill(-pid);
}

/**
 * Ends a job that still runs: also what tests have started in groups of their own.
 *
 * @param {number} pid of its first process
 */
function endTree(pid) {
  const { stdout } = spawnSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
  const processes = (stdout ?? "").split("\n").map((line) => line.trim().split(/\s+/).map(Number));
  /** @type {(parent: number) => number[]} */
  const descendants = (parent) =>
    processes.flatMap(([child = 0, its]) => (its === parent ? [child, ...descendants(child)] : []));
  const all = descendants(pid);
  endGroup(pid);
  for (const one of all) kill(one);
}

/** @param {number} pid of a process, or of a group if negative */
function kill(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}

/** @param {string} folder that may stay where a killed test has mounted something in it */
function remove(folder) {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  } catch (error) {
    process.stderr.write(`test: cannot remove ${folder}: ${String(error)}\n`);
  }
}
