// How the tools start other programs and how they end.

import { spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { constants } from "node:os";
import { delimiter } from "node:path";
import { pathToFileURL } from "node:url";

/** @typedef {import("node:child_process").SpawnOptions} SpawnOptions */

const keptOutput = 16_000;

/**
 * Runs a program to its end.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {SpawnOptions} [options] stdout and stderr are collected unless `stdio` says otherwise
 * @returns {Promise<{ code: number, output: string }>} the exit code, 128 + n after signal n, and the
 *   last characters of both outputs; rejects only when the program cannot be started
 */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
    let output = "";
    const keep = (/** @type {Buffer} */ chunk) => {
      output = (output + chunk.toString()).slice(-keptOutput);
    };
    child.stdout?.on("data", keep);
    child.stderr?.on("data", keep);
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code: exitCode(code, signal), output }));
  });
}

/**
 * Runs a program in the place of this one: same terminal, and this process outlives it, whatever
 * signal arrives.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {SpawnOptions} [options]
 * @returns {Promise<number>} its exit code, 128 + n after signal n
 */
export function runAttached(command, args, options = {}) {
  // A terminal sends Ctrl-C to the child as well; forwarding it would make one Ctrl-C count twice.
  const isOnTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: "inherit", ...options });
    const onInterrupt = () => {
      if (!isOnTerminal) child.kill("SIGINT");
    };
    const onTerminate = () => void child.kill("SIGTERM");
    process.on("SIGINT", onInterrupt).on("SIGTERM", onTerminate);
    const stopListening = () => process.off("SIGINT", onInterrupt).off("SIGTERM", onTerminate);
    child.on("error", (error) => {
      stopListening();
      reject(error);
    });
    child.on("close", (code, signal) => {
      stopListening();
      resolve(exitCode(code, signal));
    });
  });
}

/**
 * @param {number | null} code
 * @param {NodeJS.Signals | null} signal
 * @returns {number}
 */
export function exitCode(code, signal) {
  return code ?? 128 + (signal ? constants.signals[signal] : 0);
}

/**
 * A copy of `env` whose PATH starts with `folder`.
 *
 * @param {NodeJS.ProcessEnv} env
 * @param {string} folder
 * @returns {NodeJS.ProcessEnv}
 */
export function withPathFirst(env, folder) {
  // Windows spells it Path; two spellings in one environment would leave the choice to chance.
  const key = Object.keys(env).find((name) => name.toUpperCase() === "PATH") ?? "PATH";
  return { ...env, [key]: env[key] ? folder + delimiter + env[key] : folder };
}

/**
 * @param {string} moduleUrl `import.meta.url` of the asking module
 * @returns {boolean} whether node was started with that module
 */
export function isMain(moduleUrl) {
  const script = process.argv[1];
  return script !== undefined && pathToFileURL(realpathSync(script)).href === moduleUrl;
}

/**
 * Runs a script's main function and sets the exit code: the number it returns, or 1 after saying why
 * it threw.
 *
 * @param {() => Promise<number>} main
 * @returns {Promise<void>}
 */
export async function exitWith(main) {
  try {
    process.exitCode = await main();
  } catch (error) {
    process.stderr.write(`${explained(error)}\n`);
    process.exitCode = 1;
  }
}

/**
 * @param {unknown} error with a `hint` it is for the user; any other is a defect
 * @returns {string} the message and the hint, or the stack of a defect
 */
export function explained(error) {
  const { message, hint, stack } = /** @type {Error & { hint?: string }} */ (error);
  return hint ? `error: ${message}\n  ${hint}` : String(stack);
}
