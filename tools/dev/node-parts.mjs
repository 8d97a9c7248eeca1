// What tests need that make hosts of namespaces: programs of Debian packages, and the right to make them.

import { lackOfNamespaces, missingHostPackages } from "../toolchain/host-parts.mjs";
import { ensurePreviousKubernetes } from "../toolchain/kubernetes-toolchain.mjs";
import { installDebianPackages } from "./debian-packages.mjs";

/**
 * Installs what is missing, where namespaces are to be had: elsewhere nothing would run it.
 *
 * @param {{ env: NodeJS.ProcessEnv, progress: (text: string) => void }} surroundings
 * @returns {Promise<void>}
 * @throws an Error with the reason when they cannot be installed
 */
export async function ensureNodeParts({ env, progress }) {
  if ((await lackOfNamespaces(env)) !== undefined) return;
  const missing = missingHostPackages(env);
  if (missing.length > 0) {
    progress(`installing ${missing.join(", ")}`);
    try {
      await installDebianPackages(missing, env);
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      throw new Error(`cannot install ${missing.join(", ")}: ${cause}`, { cause: error });
    }
  }
  await ensurePreviousKubernetes({ env, progress });
}
