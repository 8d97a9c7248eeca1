// Sets up Pulumi from its official release.

import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cliFile, pulumiDigests, pulumiVersion } from "./pulumi-release.mjs";
import { fetchFile, pinnedDigest, unpack } from "./release-download.mjs";

const releases = "https://get.pulumi.com/releases/sdk";

/** @type {ReadonlyMap<string, string>} what a release calls the platforms of Node.js */
const osNames = new Map([
  ["linux", "linux"],
  ["darwin", "darwin"],
  ["win32", "windows"],
]);

/**
 * @param {import("./cached-toolchain.mjs").InstallRequest} request
 * @param {string} [origin]
 * @returns {Promise<void>}
 */
export async function downloadPulumi({ folder, progress, signal }, origin = releases) {
  const platform = platformName();
  const archive = `pulumi-v${pulumiVersion}-${platform}`;
  const expected = pinnedDigest(pulumiDigests, platform, archive);
  progress(`downloading pulumi ${pulumiVersion}`);
  const file = join(folder, archive);
  await fetchFile(`${origin}/${archive}`, file, expected, signal);

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
 * @returns {string} how the name of this platform's archive ends
 */
function platformName() {
  const os = osNames.get(process.platform);
  if (!os || !["x64", "arm64"].includes(process.arch)) {
    throw new Error(`there is no release for ${process.platform}-${process.arch}`);
  }
  return `${os}-${process.arch}.${os === "windows" ? "zip" : "tar.gz"}`;
}
