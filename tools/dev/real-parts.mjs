// Programs of the system that tests drive. They are installed where that is possible; where it is not,
// the tests that need the program fail and say what is missing.

import { ensureAwsCli } from "./aws-cli.mjs";
import { ensureChromium } from "./chromium.mjs";
import { findProgram } from "../toolchain/find-program.mjs";
import { installDebianPackages } from "./debian-packages.mjs";
import { ensureIgnitionValidate } from "./ignition-validate.mjs";
import { ensureKubeadms, ensureKubernetes } from "../toolchain/kubernetes-toolchain.mjs";
import { ensureMoto } from "./moto.mjs";
import { ensureNodeParts } from "./node-parts.mjs";
import { ensurePostgres } from "./postgres.mjs";

/** Programs that are called like the Debian packages that have them. */
const programs = ["cloud-init", "faketime", "openssl", "shellcheck", "strace", "tmux", "unzip"];

/**
 * Installs what is missing, once: repeating it costs a look at PATH and at the cache.
 *
 * @param {NodeJS.ProcessEnv} env
 */
export async function installRealParts(env) {
  const progress = (/** @type {string} */ text) => void process.stderr.write(`test: ${text}\n`);
  const missing = programs.filter((name) => findProgram([name], env) === undefined);
  try {
    if (missing.length > 0) {
      progress(`installing ${missing.join(", ")}`);
      await installDebianPackages(missing, env);
    }
  } catch (error) {
    progress(`cannot install ${missing.join(", ")}: ${messageOf(error)}`);
  }
  const ensured = [
    ensureChromium,
    ensurePostgres,
    ensureKubernetes,
    ensureKubeadms,
    ensureIgnitionValidate,
    ensureMoto,
    ensureAwsCli,
    ensureNodeParts,
  ];
  for (const ensure of ensured) {
    try {
      await ensure({ env, progress });
    } catch (error) {
      progress(messageOf(error));
    }
  }
}

/** @param {unknown} error */
function messageOf(error) {
  if (!(error instanceof Error)) return String(error);
  return "hint" in error && !error.message.includes(String(error.hint))
    ? `${error.message}; ${String(error.hint)}`
    : error.message;
}
