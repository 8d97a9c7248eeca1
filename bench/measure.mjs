// Runs one command and measures it from outside: wall time of the whole process, peak memory.

import { spawn } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";

/** @typedef {import("./contestants.mjs").Command} Command */

const pollMs = 20;

/**
 * Runs a command to its end and checks that it did what it should.
 *
 * @param {Command} command
 * @returns {Promise<{ ms: number, output: string }>} wall time from start to exit
 * @throws an Error with the output when the exit code or what it shows is not the expected one
 */
export async function runToEnd(command) {
  const { program, args, cwd, env, expected = 0, shows } = command;
  const started = performance.now();
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  /** @type {Buffer[]} */
  const chunks = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => chunks.push(chunk));
  const closed = new Promise((resolve) => child.once("close", resolve));
  const [code, ms] = await new Promise((resolve, reject) => {
    child.once("exit", (exitCode) => resolve([exitCode, performance.now() - started]));
    child.once("error", reject);
  });
  // What it started may still be ending; the next measurement must not share the machine with that.
  await closed;
  const output = Buffer.concat(chunks).toString("utf8");
  if (code === expected && (shows === undefined || shows.test(output))) return { ms, output };
  const wanted = `exit code ${expected}${shows === undefined ? "" : ` and ${shows}`}`;
  throw new Error(`${program} ${args.join(" ")}: exit code ${code}, expected ${wanted}\n${output}`);
}

/**
 * Runs a command like `runToEnd`, and meanwhile asks the kernel every 20 ms for the high-water mark
 * (VmHWM) of every process below this one. Polling costs time: do not trust `ms`.
 *
 * @param {Command} command
 * @returns {Promise<{ peakKib: number | undefined }>} the largest single process; undefined where
 *   there is no /proc
 */
export async function peakMemory(command) {
  /** @type {number | undefined} */
  let peakKib;
  const timer = setInterval(() => {
    for (const pid of descendantsOf(process.pid)) {
      const [, kib] = /VmHWM:\s+(\d+)/.exec(procFile(pid, "status")) ?? [];
      if (kib !== undefined) peakKib = Math.max(peakKib ?? 0, Number(kib));
    }
  }, pollMs);
  try {
    await runToEnd(command);
  } finally {
    clearInterval(timer);
  }
  return { peakKib };
}

/** @param {number} ancestor */
function descendantsOf(ancestor) {
  const childrenOf = new Map();
  for (const pid of processes()) {
    // The name, in brackets, may hold anything; state and parent follow the last bracket.
    const [, parent] = /\) \S (\d+) [^)]*$/.exec(procFile(pid, "stat")) ?? [];
    if (parent !== undefined) childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), pid]);
  }
  /** @type {string[]} */
  const found = [];
  const visit = (/** @type {string} */ pid) => {
    for (const child of childrenOf.get(pid) ?? []) {
      found.push(child);
      visit(child);
    }
  };
  visit(String(ancestor));
  return found;
}

function processes() {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

/**
 * @param {string} pid
 * @param {string} name
 * @returns {string} empty when the process has ended in between
 */
function procFile(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
