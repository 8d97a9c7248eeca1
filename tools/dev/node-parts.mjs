// What tests need that make hosts of namespaces: programs of Debian packages, and the right to make them.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../toolchain/run.mjs";
import { findProgram, installDebianPackages } from "./debian-packages.mjs";
import { ensurePreviousKubernetes } from "../toolchain/kubernetes-toolchain.mjs";

/** @type {readonly { package: string, programs: readonly string[] }[]} */
const packages = [
  { package: "busybox-static", programs: ["busybox"] },
  { package: "conntrack", programs: ["conntrack"] },
  { package: "containerd", programs: ["containerd", "ctr"] },
  { package: "containernetworking-plugins", programs: ["/usr/lib/cni/ptp"] },
  { package: "ethtool", programs: ["ethtool"] },
  { package: "iproute2", programs: ["ip"] },
  { package: "iptables", programs: ["iptables"] },
  { package: "procps", programs: ["pkill", "sysctl"] },
  { package: "runc", programs: ["runc"] },
  { package: "socat", programs: ["socat"] },
];

/**
 * Installs what is missing, where namespaces are to be had: elsewhere nothing would run it.
 *
 * @param {{ env: NodeJS.ProcessEnv, progress: (text: string) => void }} surroundings
 * @returns {Promise<void>}
 * @throws an Error with the reason when they cannot be installed
 */
export async function ensureNodeParts({ env, progress }) {
  if ((await lackOfNamespaces(env)) !== undefined) return;
  const missing = missingPackages(env);
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

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<string | undefined>} why no host can be made of namespaces here, in a line
 */
export async function lackOfHosts(env) {
  const lack = await lackOfNamespaces(env);
  if (lack !== undefined) return lack;
  const missing = missingPackages(env);
  return missing.length > 0 ? `there is no ${missing.join(", no ")}` : undefined;
}

/** @param {NodeJS.ProcessEnv} env */
function missingPackages(env) {
  const has = (/** @type {string} */ program) =>
    program.startsWith("/") ? existsSync(program) : findProgram([program], env) !== undefined;
  return packages.filter(({ programs }) => !programs.every(has)).map((one) => one.package);
}

/**
 * Makes a host and a network that end at once, by the scripts that tests make theirs by.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<string | undefined>}
 */
async function lackOfNamespaces(env) {
  if (process.platform !== "linux") return `${process.platform} has no namespaces`;
  if (process.getuid?.() !== 0) return "namespaces and mounts need root";
  const folder = mkdtempSync(join(tmpdir(), "capstan-"));
  const host = [
    script("run-host.sh"),
    `capstan-${process.pid}-probe`,
    join(folder, "host"),
    "probe",
  ];
  const network = ["unshare", "--net", script("run-network.sh"), folder, "10.77.0.1", "true"];
  try {
    for (const [program = "", ...args] of [host, network]) {
      const { output } = await run(program, args, { env });
      if (!/^ready /m.test(output)) return `no namespaces: ${output.trim().split("\n").at(-1)}`;
    }
  } catch (error) {
    return `no namespaces: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return undefined;
}

/** @param {string} name */
function script(name) {
  return fileURLToPath(new URL(`../../test/nodes/scripts/${name}`, import.meta.url));
}
