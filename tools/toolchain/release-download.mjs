// Fetches files of official releases and checks them against digests that are pinned here: a list of checksums beside a file is no
// better than the file.

import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { run } from "./run.mjs";

/** Short: a machine without network shall go on to the next way at once. */
const answerTimeoutMs = 5_000;

/**
 * @param {string} url
 * @param {string} file
 * @param {string} expected "sha256:..." or "sha512:...", in hexadecimal
 * @param {AbortSignal} [signal] ends the download
 * @throws an Error when what was saved is something else
 */
export async function fetchFile(url, file, expected, signal) {
  const [algorithm = "", digest] = expected.split(":");
  const actual = await save(await request(url, signal), file, algorithm);
  if (actual !== digest) {
    throw new Error(`checksum of ${url.split("/").at(-1)} is ${actual}, pinned is ${digest}`);
  }
}

/**
 * @param {ReadonlyMap<string, string>} digests
 * @param {string} key
 * @param {string} name of the file, for people
 * @returns {string} as `fetchFile` takes it
 * @throws an Error where none is pinned: what cannot be checked is not fetched
 */
export function pinnedDigest(digests, key, name) {
  const digest = digests.get(key);
  if (digest === undefined) throw new Error(`no checksum of ${name} is pinned`);
  return digest;
}

/**
 * @param {string} archive
 * @param {string} folder
 * @param {readonly string[]} [members] of the archive; all without
 */
export async function unpack(archive, folder, members = []) {
  const { code, output } = await run("tar", ["-xf", archive, "-C", folder, ...members]);
  if (code !== 0) throw new Error(`tar ended with ${code}: ${output.trim()}`);
}

/**
 * The time limit holds until the answer starts; after that fetch itself ends a stalled body.
 *
 * @param {string} url
 * @param {AbortSignal} [signal]
 * @returns {Promise<Response>}
 */
async function request(url, signal) {
  const { host } = new URL(url);
  const waiting = new AbortController();
  const timer = setTimeout(() => waiting.abort(), answerTimeoutMs);
  try {
    const ends = signal === undefined ? waiting.signal : AbortSignal.any([waiting.signal, signal]);
    const response = await fetch(url, { signal: ends });
    if (!response.ok) throw new Error(`${host} answered ${response.status}`);
    return response;
  } catch (error) {
    if (waiting.signal.aborted) {
      throw new Error(`no answer from ${host} in ${answerTimeoutMs / 1000} s`, { cause: error });
    }
    // fetch hides the reason, such as ENOTFOUND, in the cause.
    const { cause } = /** @type {Error & { cause?: { code?: string } }} */ (error);
    throw cause?.code ? new Error(`${host}: ${cause.code}`, { cause: error }) : error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @param {Response} response
 * @param {string} file
 * @param {string} algorithm
 * @returns {Promise<string>} digest of what was saved, in hexadecimal
 */
async function save(response, file, algorithm) {
  if (!response.body) throw new Error(`${response.url} is empty`);
  const hash = createHash(algorithm);
  const body = Readable.fromWeb(/** @type {any} */ (response.body));
  body.on("data", (chunk) => hash.update(chunk));
  await pipeline(body, createWriteStream(file));
  return hash.digest("hex");
}
