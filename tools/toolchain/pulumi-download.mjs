// Sets up Pulumi from its official release.

import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cliFile, pulumiVersion } from "./pulumi-release.mjs";
import { fetchFile, fetchText, publishedChecksum, unpack } from "./release-download.mjs";

const releases = "https://get.pulumi.com/releases/sdk";
const checksums = `https://github.com/pulumi/pulumi/releases/download/v${pulumiVersion}/pulumi-${pulumiVersion}-checksums.txt`;

/** @type {ReadonlyMap<string, string>} what a release calls the platforms of Node.js */
const osNames = new Map([
  ["linux", "linux"],
  ["darwin", "darwin"],
  ["win32", "windows"],
]);

/** @type {import("./cached-toolchain.mjs").Install} */
export async function downloadPulumi({ folder, progress }) {
  const archive = archiveName();
  progress(`downloading pulumi ${pulumiVersion}`);
  const expected = publishedChecksum(await fetchText(checksums), archive);
  const file = join(folder, archive);
  await fetchFile(`${releases}/${archive}`, file, expected);

  progress(`unpacking pulumi ${pulumiVersion}`);
  await unpack(file, folder);
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
