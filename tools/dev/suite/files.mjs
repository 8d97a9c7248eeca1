// The test files: their sources, what tsc makes of them, and the list of those that have to run.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * What is expected of a test file.
 *
 * @typedef {object} Expected
 * @property {number} tests how many have to run, at least
 * @property {number} [seconds] about how long it takes, for the order; missing until it is measured
 * @property {string} [needs] what it cannot do without and not every machine has, as needs.mjs knows it
 */

/** @typedef {Readonly<Record<string, Expected>>} Floor by the path of the source, such as test/api/x.test.ts */

const root = fileURLToPath(new URL("../../..", import.meta.url));
const floorFile = join(root, "test", "floor.json");

/** @returns {Floor} */
export function readFloor() {
  return JSON.parse(readFileSync(floorFile, "utf8"));
}

/**
 * Sorted, a file a line, so that branches which change different files merge.
 *
 * @param {Floor} floor
 */
export function writeFloor(floor) {
  const lines = Object.entries(floor)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([file, { tests, seconds, needs }]) => {
      const time = seconds === undefined ? "" : `, "seconds": ${seconds}`;
      const need = needs === undefined ? "" : `, "needs": "${needs}"`;
      return `  "${file}": { "tests": ${tests}${time}${need} }`;
    });
  writeFileSync(floorFile, `{\n${lines.join(",\n")}\n}\n`);
}

/**
 * The list for the files that there are.
 *
 * @param {Readonly<Record<string, { tests: number }>>} counted all of them
 * @param {Readonly<Record<string, { ms: number }>>} measured some of them
 * @param {Floor} before whose seconds stay where nothing was measured, and whose needs always do
 * @returns {Floor}
 */
export function floorOf(counted, measured, before) {
  const entries = Object.entries(counted).map(([file, { tests }]) => {
    const seconds = aboutSeconds(measured[file]?.ms, before[file]?.seconds);
    const needs = before[file]?.needs;
    /** @type {Expected} */
    const expected = { tests, ...(seconds !== undefined && { seconds }), ...(needs && { needs }) };
    return /** @type {const} */ ([file, expected]);
  });
  return Object.fromEntries(entries);
}

/**
 * Only what has changed a lot replaces what is known: the list shall not change with every breath of
 * the machine.
 *
 * @param {number | undefined} ms measured
 * @param {number | undefined} known
 * @returns {number | undefined}
 */
function aboutSeconds(ms, known) {
  if (ms === undefined) return known;
  const seconds = ms < 2000 ? Math.round(ms / 500) / 2 : Math.round(ms / 1000);
  if (known === undefined) return seconds;
  const isClose = Math.abs(seconds - known) <= Math.max(2, Math.min(seconds, known));
  return isClose ? known : seconds;
}

/** @returns {string[]} the sources of all compiled test files, sorted */
export function testFiles() {
  const compiled = join(root, "dist", "test");
  if (!existsSync(compiled)) return [];
  return readdirSync(compiled, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.js"))
    .map((name) => sourceOf(join(compiled, name)))
    .sort();
}

/**
 * @param {string} compiled absolute, or relative to the root
 * @returns {string} relative to the root
 */
export function sourceOf(compiled) {
  const path = compiled.startsWith(root) ? relative(root, compiled) : compiled;
  return path
    .split(sep)
    .join("/")
    .replace(/^dist\/(.*)\.js$/, "$1.ts");
}

/**
 * @param {string} source relative to the root; anything else stays as it is
 * @returns {string} relative to the root
 */
export function compiledOf(source) {
  return source.replace(/^(\.\/)?(test\/.*)\.ts$/, "dist/$2.js");
}
