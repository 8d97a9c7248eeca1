// Finds the browser that tests look at pages with, or sets one up.

import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { cacheRoot } from "../toolchain/cache-root.mjs";
import { isExecutableFile } from "../toolchain/cached-toolchain.mjs";
import { run } from "../toolchain/run.mjs";
import { findProgram } from "../toolchain/find-program.mjs";
import { installDebianPackages } from "./debian-packages.mjs";
import { findOrInstall, withHint } from "./find-or-install.mjs";

/**
 * Puts a browser where `findChromium` finds it, or rejects and says why it cannot.
 *
 * @callback InstallChromium
 * @param {InstallChromiumRequest} request
 * @returns {Promise<void>}
 */

/**
 * @typedef {object} InstallChromiumRequest
 * @property {NodeJS.ProcessEnv} env
 * @property {string} target the folder in the cache that the browser's program goes into
 * @property {string} [origin] where releases are; the official place when left out
 */

/**
 * @typedef {object} EnsureChromiumOptions
 * @property {NodeJS.ProcessEnv} [env] `process.env` when left out
 * @property {(text: string) => void} [progress]
 * @property {InstallChromium} [download] tried first; the official release when left out
 * @property {InstallChromium} [install] tried second; Debian's package when left out
 */

/** A release of Chrome for Testing. */
const release = "131.0.6778.204";
const releases = "https://storage.googleapis.com/chrome-for-testing-public";
const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

/** @type {ReadonlyMap<string, string>} what a release calls the platforms of Node.js */
const platforms = new Map([
  ["linux-x64", "linux64"],
  ["darwin-x64", "mac-x64"],
  ["darwin-arm64", "mac-arm64"],
]);

/** Short: a machine without network shall go on to the next way at once. */
const answerTimeoutMs = 5_000;

/**
 * Absolute path of a Chromium or Chrome, in this order: CAPSTAN_CHROMIUM, PATH, the cache.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {string | undefined} undefined when there is none
 * @throws an Error with a hint when CAPSTAN_CHROMIUM names no program
 */
export function findChromium(env) {
  const named = env["CAPSTAN_CHROMIUM"];
  if (named) {
    if (isExecutableFile(resolve(named))) return resolve(named);
    throw withHint(
      `cannot use CAPSTAN_CHROMIUM ${named}: there is no such program`,
      "set it to an installed Chromium or Chrome, or unset it",
    );
  }
  const cached = join(cacheFolder(env), "chrome-headless-shell");
  return findProgram(names, env) ?? (isExecutableFile(cached) ? cached : undefined);
}

/**
 * `findChromium`, and where that finds nothing, one from the official release or a package.
 *
 * @param {EnsureChromiumOptions} [options]
 * @returns {Promise<string>}
 * @throws an Error with a hint when none of the ways succeeds
 */
export async function ensureChromium({
  env = process.env,
  progress = () => {},
  download = downloadChromium,
  install = () => installDebianPackages(["chromium"], env),
} = {}) {
  const request = { env, target: cacheFolder(env) };
  return findOrInstall({
    name: "a browser",
    find: () => findChromium(env),
    ways: { download: () => download(request), "Debian package": () => install(request) },
    hint: "install Chromium or Chrome, or set CAPSTAN_CHROMIUM to one",
    progress,
  });
}

/**
 * The official release into the cache, checked against the digest that comes with it, and started
 * once: it wants libraries that a small system may lack.
 *
 * @type {InstallChromium}
 */
export async function downloadChromium({ env, target, origin = releases }) {
  const platform = platforms.get(`${process.platform}-${process.arch}`);
  if (platform === undefined) throw new Error("there is no release for this platform");
  const name = `chrome-headless-shell-${platform}`;
  const archive = await fetchChecked(`${origin}/${release}/${platform}/${name}.zip`);
  mkdirSync(cacheRoot(env), { recursive: true });
  const folder = mkdtempSync(`${target}.tmp-`);
  try {
    const file = join(folder, "archive.zip");
    writeFileSync(file, archive);
    const { code, output } = await run("unzip", ["-q", file, "-d", folder]);
    if (code !== 0) throw new Error(`unzip ended with ${code}: ${output.trim()}`);
    const unpacked = join(folder, name);
    const started = await run(join(unpacked, "chrome-headless-shell"), ["--version"]);
    if (started.code !== 0) throw new Error(`it does not start: ${started.output.trim()}`);
    rmSync(target, { recursive: true, force: true });
    renameSync(unpacked, target);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @param {string} url
 * @returns {Promise<Buffer>}
 */
async function fetchChecked(url) {
  const { host } = new URL(url);
  const waiting = new AbortController();
  const timer = setTimeout(() => waiting.abort(), answerTimeoutMs);
  const response = await fetch(url, { signal: waiting.signal }).catch((error) => {
    throw new Error(`no answer from ${host}`, { cause: error });
  });
  clearTimeout(timer);
  if (!response.ok) throw new Error(`${host} answered ${response.status}`);
  const expected = /md5=([\w+/=]+)/.exec(response.headers.get("x-goog-hash") ?? "")?.[1];
  const body = Buffer.from(await response.arrayBuffer());
  const actual = createHash("md5").update(body).digest("base64");
  if (actual !== expected) {
    throw new Error(`digest of the archive is ${actual}, ${host} says ${expected ?? "none"}`);
  }
  return body;
}

/** @param {NodeJS.ProcessEnv} env */
function cacheFolder(env) {
  return join(cacheRoot(env), `chromium-${release}-${process.platform}-${process.arch}`);
}
