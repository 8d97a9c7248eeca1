// Sets up programs from the official releases of Kubernetes and etcd.

import { chmodSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { etcdFile, etcdVersion, kubernetesDigests, serverArchive } from "./kubernetes-release.mjs";
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
  const archiveDigest = digests.get(`${serverArchive} ${set.version} ${arch}`);
  const keyOf = (/** @type {string} */ file) =>
    `${file} ${file === etcdFile ? etcdVersion : set.version} ${arch}`;
  const isInArchive = (/** @type {string} */ file) =>
    file !== etcdFile && archiveDigest !== undefined && !digests.has(keyOf(file));
  const ofArchive = set.files.filter(isInArchive);
  const files = set.files
    .filter((file) => !isInArchive(file))
    .map((file) => ({ file, digest: pinnedDigest(digests, keyOf(file), keyOf(file)) }));
  const source = `${origins.kubernetes}/v${set.version}`;
  mkdirSync(join(request.folder, "bin"));
  for (const one of files) {
    await (one.file === etcdFile
      ? downloadEtcd(`${origins.etcd}/v${etcdVersion}`, arch, one.digest, request)
      : downloadProgram(`${source}/bin/linux/${arch}`, one, request));
  }
  if (archiveDigest === undefined || ofArchive.length === 0) return;
  await downloadServer(`${source}/${serverArchive}-linux-${arch}.tar.gz`, archiveDigest, {
    ...request,
    files: ofArchive,
  });
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
 * @param {string} url of the archive
 * @param {string} digest
 * @param {InstallRequest & { readonly files: readonly string[] }} request with the programs that are taken from the archive
 */
async function downloadServer(url, digest, { folder, progress, signal, files }) {
  progress(`downloading ${files.join(", ")} in ${url.split("/").at(-1)}, some 400 MB`);
  const archive = join(folder, "server.tar.gz");
  await fetchFile(url, archive, digest, signal);
  const inside = join("kubernetes", "server", "bin");
  await unpack(
    archive,
    folder,
    files.map((file) => join(inside, file)),
  );
  for (const file of files) renameSync(join(folder, inside, file), join(folder, "bin", file));
  rmSync(archive);
  rmSync(join(folder, "kubernetes"), { recursive: true });
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
