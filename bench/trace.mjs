// Preloaded into the CLI (`node --import`) by profile.mjs: writes down when the process started, which
// modules were loaded when, and when each child process ran, to the file CAPSTAN_BENCH_TRACE names.

import childProcess from "node:child_process";
import { writeFileSync } from "node:fs";
import { registerHooks, syncBuiltinESMExports } from "node:module";

/** @typedef {{ args: string[], startMs: number, exitMs?: number, closeMs?: number }} Child */

/** @type {Child[]} */
const children = [];
/** @type {{ url: string, ms: number }[]} */
const modules = [];
const preloadedMs = performance.now();

const { spawn } = childProcess;
/**
 * With the three arguments that the command line gives.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {import("node:child_process").SpawnOptions} options
 */
const tracedSpawn = (program, args, options) => {
  /** @type {Child} */
  const entry = { args: args.filter((arg) => !arg.startsWith("-")), startMs: performance.now() };
  const child = spawn(program, args, options);
  children.push(entry);
  child.once("exit", () => (entry.exitMs = performance.now()));
  child.once("close", () => (entry.closeMs = performance.now()));
  return child;
};
childProcess.spawn = /** @type {typeof spawn} */ (/** @type {unknown} */ (tracedSpawn));
syncBuiltinESMExports();

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!url.startsWith("node:")) modules.push({ url, ms: performance.now() });
    return loaded;
  },
});

process.once("exit", () => {
  const trace = { preloadedMs, modules, children, exitMs: performance.now() };
  writeFileSync(String(process.env["CAPSTAN_BENCH_TRACE"]), JSON.stringify(trace));
});
