// Sets up Pulumi from its official release.

import { createHash } from "node:crypto";
import { createWriteStream, existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { cliFile, pulumiVersion } from "./pulumi-release.mjs";
import { run } from "./run.mjs";

const releases = "https://get.pulumi.com/releases/sdk";
const checksums = `https://github.com/pulumi/pulumi/releases/download/v${pulumiVersion}/pulumi-${pulumiVersion}-checksums.txt`;

/** @type {ReadonlyMap<string, string>} what a release calls the platforms of Node.js */
const osNames = new Map([
  ["linux", "linux"],
  ["darwin", "darwin"],
  ["win32", "windows"],
]);

/** Short: a machine without network shall go on to the next way at once. */
const answerTimeoutMs = 5_000;

/** @type {import("./pulumi-toolchain.d.mts").Install} */
export async function downloadPulumi({ folder, progress }) {
  const archive = archiveName();
  progress(`downloading pulumi ${pulumiVersion}`);
  const expected = publishedChecksum(await (await request(checksums)).text(), archive);

  const file = join(folder, archive);
  const actual = await save(await request(`${releases}/${archive}`), file);
  if (actual !== expected) {
    throw new Error(`checksum of ${archive} is ${actual}, published is ${expected}`);
  }

  progress(`unpacking pulumi ${pulumiVersion}`);
  const { code, output } = await run("tar", ["-xf", file, "-C", folder]);
  if (code !== 0) throw new Error(`tar ended with ${code}: ${output.trim()}`);
  rmSync(file);
  // The programs lie in pulumi/ or, for Windows, in pulumi/bin/.
  const unpacked = [join(folder, "pulumi", "bin"), join(folder, "pulumi")].find((candidate) =>
    existsSync(join(candidate, cliFile)),
  );
  if (!unpacked) throw new Error(`${archive} holds no ${cliFile}`);
  renameSync(unpacked, join(folder, "bin"));
}

/**
 * @returns {string}
 */
function archiveName() {
  const os = osNames.get(process.platform);
  if (!os || !["x64", "arm64"].includes(process.arch)) {
    throw new Error(`there is no release for ${process.platform}-${process.arch}`);
  }
  const extension = os === "windows" ? "zip" : "tar.gz";
  return `pulumi-v${pulumiVersion}-${os}-${process.arch}.${extension}`;
}

/**
 * @param {string} list lines of `<sha256>  <file>`
 * @param {string} archive
 * @returns {string} sha256 in hexadecimal
 */
function publishedChecksum(list, archive) {
  for (const line of list.split("\n")) {
    const [checksum, name] = line.trim().split(/\s+\*?/);
    if (checksum && name === archive) return checksum.toLowerCase();
  }
  throw new Error(`the published checksums do not list ${archive}`);
}

/**
 * The time limit holds until the answer starts; after that fetch itself ends a stalled body.
 *
 * @param {string} url
 * @returns {Promise<Response>}
 */
async function request(url) {
  const { host } = new URL(url);
  const waiting = new AbortController();
  const timer = setTimeout(() => waiting.abort(), answerTimeoutMs);
  try {
    const response = await fetch(url, { signal: waiting.signal });
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
 * @returns {Promise<string>} sha256 of what was saved, in hexadecimal
 */
async function save(response, file) {
  if (!response.body) throw new Error(`${response.url} is empty`);
  const hash = createHash("sha256");
  const body = Readable.fromWeb(/** @type {any} */ (response.body));
  body.on("data", (chunk) => hash.update(chunk));
  await pipeline(body, createWriteStream(file));
  return hash.digest("hex");
}
