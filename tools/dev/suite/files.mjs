// The test files: their sources, what tsc makes of them, and the list of those that have to run.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * What is expected of a test file.
 *
 * @typedef {object} Expected
 * @property {number} tests how many have to run, at least
 * @property {number} [seconds] about how long it takes in `npm test` where nothing runs beside it, all parts of it; missing until it is
 *   measured
 * @property {number} [processorSeconds] about what it costs the processors meanwhile
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
    .map(([file, { tests, seconds, processorSeconds, needs }]) => {
      const fields = Object.entries({ tests, seconds, processorSeconds, needs })
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => `"${name}": ${JSON.stringify(value)}`);
      return `  "${file}": { ${fields.join(", ")} }`;
    });
  writeFileSync(floorFile, `{\n${lines.join(",\n")}\n}\n`);
}

/**
 * What a file took in a run.
 *
 * @typedef {object} Weight
 * @property {number} seconds
 * @property {number} processorSeconds
 */

/**
 * The list for the files that there are.
 *
 * @param {Readonly<Record<string, { tests: number }>>} counted all of them
 * @param {Readonly<Record<string, Weight>>} measured some of them
 * @param {Floor} before whose weights stay where nothing was measured, and whose needs always do
 * @returns {Floor}
 */
export function floorOf(counted, measured, before) {
  const entries = Object.entries(counted).map(([file, { tests }]) => {
    const known = before[file];
    const weight = aboutWeight(measured[file], known);
    /** @type {Expected} */
    const expected = { tests, ...weight, ...(known?.needs && { needs: known.needs }) };
    return /** @type {const} */ ([file, expected]);
  });
  return Object.fromEntries(entries);
}

/**
 * @param {Floor} floor
 * @param {Readonly<Record<string, Weight>>} measured on this machine
 * @returns {Floor} the same files, as heavy as they are here
 */
export function weighed(floor, measured) {
  const entries = Object.entries(floor).map(([file, expected]) => [
    file,
    { ...expected, ...measured[file] },
  ]);
  return Object.fromEntries(entries);
}

/**
 * Only what has changed a lot replaces what is known: the list shall not change with every breath of
 * the machine. Both figures are replaced, since their ratio counts.
 *
 * @param {Weight | undefined} measured
 * @param {Partial<Weight> | undefined} known
 * @returns {Partial<Weight>}
 */
function aboutWeight(measured, known) {
  const { seconds, processorSeconds } = known ?? {};
  const keeps = {
    ...(seconds !== undefined && { seconds }),
    ...(processorSeconds !== undefined && { processorSeconds }),
  };
  if (measured === undefined) return keeps;
  const isSame =
    isClose(measured.seconds, seconds) && isClose(measured.processorSeconds, processorSeconds);
  return isSame
    ? keeps
    : {
        seconds: rounded(measured.seconds),
        processorSeconds: rounded(measured.processorSeconds),
      };
}

/**
 * @param {number} seconds
 * @param {number | undefined} known
 */
function isClose(seconds, known) {
  if (known === undefined) return false;
  const about = rounded(seconds);
  return Math.abs(about - known) <= Math.max(2, Math.min(about, known));
}

/** @param {number} seconds */
function rounded(seconds) {
  return seconds < 2 ? Math.round(seconds * 2) / 2 : Math.round(seconds);
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
