// Sets up programs from the official releases of Kubernetes and etcd.

import { chmodSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { etcdFile, etcdVersion, kubernetesDigests } from "./kubernetes-release.mjs";
import { fetchFile, pinnedDigest, unpack } from "./release-download.mjs";

const official = {
  origins: {
    kubernetes: "https://dl.k8s.io/release",
    etcd: "https://github.com/etcd-io/etcd/releases/download",
  },
  digests: kubernetesDigests,
};

/** @type {ReadonlyMap<string, string>} what the releases call the platforms; there is no API server for others */
const platforms = new Map([
  ["linux-x64", "amd64"],
  ["linux-arm64", "arm64"],
]);

/** @typedef {import("./cached-toolchain.mjs").InstallRequest} InstallRequest */
/** @typedef {import("./kubernetes-release.mjs").ProgramSet} ProgramSet */

/**
 * @param {ProgramSet} set
 * @param {InstallRequest} request
 * @param {typeof official} [releases]
 * @returns {Promise<void>}
 * @throws an Error, before anything is fetched, where the digest of one of the files is not pinned
 */
export async function downloadKubernetes(set, request, { origins, digests } = official) {
  const arch = platforms.get(`${process.platform}-${process.arch}`);
  if (arch === undefined) {
    throw new Error(`there is no release for ${process.platform}-${process.arch}`);
  }
  const files = set.files.map((file) => {
    const name = `${file} ${file === etcdFile ? etcdVersion : set.version} ${arch}`;
    return { file, digest: pinnedDigest(digests, name, name) };
  });
  mkdirSync(join(request.folder, "bin"));
  for (const one of files) {
    await (one.file === etcdFile
      ? downloadEtcd(`${origins.etcd}/v${etcdVersion}`, arch, one.digest, request)
      : downloadProgram(`${origins.kubernetes}/v${set.version}/bin/linux/${arch}`, one, request));
  }
}

/**
 * @param {string} source
 * @param {{ readonly file: string, readonly digest: string }} program
 * @param {InstallRequest} request
 */
async function downloadProgram(source, { file, digest }, { folder, progress, signal }) {
  progress(`downloading ${file}`);
  const target = join(folder, "bin", file);
  await fetchFile(`${source}/${file}`, target, digest, signal);
  chmodSync(target, 0o755);
}

/**
 * @param {string} source
 * @param {string} arch
 * @param {string} digest of the archive
 * @param {InstallRequest} request
 */
async function downloadEtcd(source, arch, digest, { folder, progress, signal }) {
  progress(`downloading etcd ${etcdVersion}`);
  const release = `etcd-v${etcdVersion}-linux-${arch}`;
  const archive = `${release}.tar.gz`;
  await fetchFile(`${source}/${archive}`, join(folder, archive), digest, signal);
  await unpack(join(folder, archive), folder);
  renameSync(join(folder, release, etcdFile), join(folder, "bin", etcdFile));
  rmSync(join(folder, archive));
  rmSync(join(folder, release), { recursive: true });
}
