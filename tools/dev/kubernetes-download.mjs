// Sets up programs from the official releases of Kubernetes and etcd.

import { chmodSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { etcdFile, etcdVersion } from "./kubernetes-release.mjs";
import { fetchFile, fetchText, publishedChecksum, unpack } from "../toolchain/release-download.mjs";

const officialOrigins = {
  kubernetes: "https://dl.k8s.io/release",
  etcd: "https://github.com/etcd-io/etcd/releases/download",
};

/** @type {ReadonlyMap<string, string>} what the releases call the platforms; there is no API server for others */
const platforms = new Map([
  ["linux-x64", "amd64"],
  ["linux-arm64", "arm64"],
]);

/** @typedef {import("../toolchain/cached-toolchain.mjs").InstallRequest} InstallRequest */
/** @typedef {import("./kubernetes-release.mjs").ProgramSet} ProgramSet */

/**
 * @param {ProgramSet} set
 * @param {InstallRequest} request
 * @param {typeof officialOrigins} [origins]
 * @returns {Promise<void>}
 */
export async function downloadKubernetes(set, request, origins = officialOrigins) {
  const arch = platforms.get(`${process.platform}-${process.arch}`);
  if (arch === undefined) {
    throw new Error(`there is no release for ${process.platform}-${process.arch}`);
  }
  mkdirSync(join(request.folder, "bin"));
  for (const file of set.files) {
    await (file === etcdFile
      ? downloadEtcd(`${origins.etcd}/v${etcdVersion}`, arch, request)
      : downloadProgram(`${origins.kubernetes}/v${set.version}/bin/linux/${arch}`, file, request));
  }
}

/**
 * @param {string} source
 * @param {string} file
 * @param {InstallRequest} request
 */
async function downloadProgram(source, file, { folder, progress }) {
  progress(`downloading ${file}`);
  const expected = (await fetchText(`${source}/${file}.sha256`)).trim();
  const target = join(folder, "bin", file);
  await fetchFile(`${source}/${file}`, target, expected);
  chmodSync(target, 0o755);
}

/**
 * @param {string} source
 * @param {string} arch
 * @param {InstallRequest} request
 */
async function downloadEtcd(source, arch, { folder, progress }) {
  progress(`downloading etcd ${etcdVersion}`);
  const release = `etcd-v${etcdVersion}-linux-${arch}`;
  const archive = `${release}.tar.gz`;
  const expected = publishedChecksum(await fetchText(`${source}/SHA256SUMS`), archive);
  await fetchFile(`${source}/${archive}`, join(folder, archive), expected);
  await unpack(join(folder, archive), folder);
  renameSync(join(folder, release, etcdFile), join(folder, "bin", etcdFile));
  rmSync(join(folder, archive));
  rmSync(join(folder, release), { recursive: true });
}
