// Sets up a control plane from the official releases of Kubernetes and etcd.

import { chmodSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import {
  etcdFile,
  etcdVersion,
  kubernetesFiles,
  kubernetesVersion,
} from "./kubernetes-release.mjs";
import { fetchFile, fetchText, publishedChecksum, unpack } from "../toolchain/release-download.mjs";

const kubernetesReleases = "https://dl.k8s.io/release";
const etcdReleases = "https://github.com/etcd-io/etcd/releases/download";

/** @type {ReadonlyMap<string, string>} what the releases call the platforms; there is no API server for others */
const platforms = new Map([
  ["linux-x64", "amd64"],
  ["linux-arm64", "arm64"],
]);

/** @typedef {import("../toolchain/cached-toolchain.mjs").InstallRequest} InstallRequest */

/**
 * Fetches the official releases; from other places when they are given.
 *
 * @param {InstallRequest & { kubernetesOrigin?: string, etcdOrigin?: string }} request
 * @returns {Promise<void>}
 */
export async function downloadKubernetes({
  folder,
  progress,
  kubernetesOrigin = kubernetesReleases,
  etcdOrigin = etcdReleases,
}) {
  const arch = platforms.get(`${process.platform}-${process.arch}`);
  if (arch === undefined) {
    throw new Error(`there is no release for ${process.platform}-${process.arch}`);
  }
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const name of kubernetesFiles) {
    progress(`downloading ${name} ${kubernetesVersion}`);
    const url = `${kubernetesOrigin}/v${kubernetesVersion}/bin/linux/${arch}/${name}`;
    const expected = (await fetchText(`${url}.sha256`)).trim();
    await fetchFile(url, join(bin, name), expected);
    chmodSync(join(bin, name), 0o755);
  }

  progress(`downloading etcd ${etcdVersion}`);
  const release = `etcd-v${etcdVersion}-linux-${arch}`;
  const source = `${etcdOrigin}/v${etcdVersion}`;
  const archive = `${release}.tar.gz`;
  const expected = publishedChecksum(await fetchText(`${source}/SHA256SUMS`), archive);
  await fetchFile(`${source}/${archive}`, join(folder, archive), expected);
  await unpack(join(folder, archive), folder);
  renameSync(join(folder, release, etcdFile), join(bin, etcdFile));
  rmSync(join(folder, archive));
  rmSync(join(folder, release), { recursive: true });
}
