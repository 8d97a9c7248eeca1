// Remembers the versions of installed Pulumis, so that not every start has to run one to ask it.

import {
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { cacheRoot } from "./cache-root.mjs";
import { cliFile } from "./pulumi-release.mjs";

/** What is smaller may be a script or a shim, which can lead to another Pulumi in another folder. */
const smallestPulumiBytes = 20_000_000;
/** One is what a machine has; whoever switches between a few is remembered too. */
const keptVersions = 8;

/**
 * The version of a program, as `ask` answers; asked again when the program was replaced or changed.
 * An answer of undefined is not remembered.
 *
 * @param {string} bin
 * @param {NodeJS.ProcessEnv} env
 * @param {() => string | undefined} ask
 * @returns {string | undefined}
 */
export function rememberedVersion(bin, env, ask) {
  const fingerprint = fingerprintOf(bin);
  if (fingerprint === undefined) return ask();
  const file = join(cacheRoot(env), "pulumi-versions.json");
  const known = readVersions(file);
  const remembered = known.find(([which]) => which === fingerprint)?.[1];
  if (remembered !== undefined) return remembered;
  const version = ask();
  if (version !== undefined) {
    writeVersions(file, [...known, [fingerprint, version]].slice(-keptVersions));
  }
  return version;
}

/**
 * @param {string} bin
 * @returns {string | undefined} another one for any other content of the program; none for what may
 *   not be Pulumi itself
 */
function fingerprintOf(bin) {
  const path = realpathSync(bin);
  const { size, ctimeMs, ino } = statSync(path);
  const isPulumi = basename(path) === cliFile && size >= smallestPulumiBytes;
  return isPulumi ? `${path} ${size} ${ino} ${ctimeMs}` : undefined;
}

/**
 * @param {string} file
 * @returns {[fingerprint: string, version: string][]} oldest first
 */
function readVersions(file) {
  try {
    const known = /** @type {unknown} */ (JSON.parse(readFileSync(file, "utf8")));
    return Object.entries(/** @type {object} */ (known)).filter(
      ([, version]) => typeof version === "string",
    );
  } catch {
    return []; // None yet, or damaged: it is written anew.
  }
}

/**
 * @param {string} file
 * @param {string[][]} versions
 */
function writeVersions(file, versions) {
  const fresh = `${file}.${process.pid}.tmp`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(fresh, `${JSON.stringify(Object.fromEntries(versions), null, 2)}\n`);
    renameSync(fresh, file);
  } catch {
    // A cache that cannot be written costs time, nothing else.
  }
}
