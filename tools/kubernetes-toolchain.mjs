// Finds the control plane that tests run, or sets it up in the user's cache folder.

import { accessSync, constants, statSync } from "node:fs";
import { join } from "node:path";
import { cacheRoot } from "./cache-root.mjs";
import { kubernetesPrograms, kubernetesVersion } from "./kubernetes-release.mjs";

/** @type {(env: NodeJS.ProcessEnv) => import("./kubernetes-toolchain.d.mts").KubernetesToolchain | undefined} */
export function findKubernetes(env) {
  const binDir = join(
    cacheRoot(env),
    `kubernetes-${kubernetesVersion}-${process.platform}-${process.arch}`,
    "bin",
  );
  const isComplete = kubernetesPrograms.every((name) => isExecutableFile(join(binDir, name)));
  return isComplete ? { binDir, origin: "cache" } : undefined;
}

/**
 * @param {string} path
 * @returns {boolean}
 */
function isExecutableFile(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
