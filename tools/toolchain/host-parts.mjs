// What hosts of namespaces need of this machine: programs, by the Debian packages that bring them, and the right to make them.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram } from "./find-program.mjs";
import { run } from "./run.mjs";

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
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<string | undefined>} why no host can be made of namespaces here, in a line
 */
export async function lackOfHosts(env) {
  const lack = await lackOfNamespaces(env);
  if (lack !== undefined) return lack;
  const missing = missingHostPackages(env);
  return missing.length > 0 ? `there is no ${missing.join(", no ")}` : undefined;
}

/** @param {NodeJS.ProcessEnv} env */
export function missingHostPackages(env) {
  const has = (/** @type {string} */ program) =>
    program.startsWith("/") ? existsSync(program) : findProgram([program], env) !== undefined;
  return packages.filter(({ programs }) => !programs.every(has)).map((one) => one.package);
}

/**
 * Makes a host and a network that end at once, by the scripts that those of clusters are made by.
 *
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<string | undefined>} why no host can be made here with whatever programs, in a line
 */
export async function lackOfNamespaces(env) {
  if (process.platform !== "linux") return `${process.platform} has no namespaces`;
  if (process.getuid?.() !== 0) return "namespaces and mounts need root";
  const folder = mkdtempSync(join(tmpdir(), "capstan-"));
  const network = join(folder, "network");
  try {
    const group = `capstan-${process.pid}-probe`;
    const host = await runScript("run-host.sh", [group, join(folder, "host"), "probe"], env);
    if (!/^ready /m.test(host.output)) return `no namespaces: ${lastLine(host.output)}`;
    const made = await runScript("make-network.sh", [network, "10.77.0.1/24"], env);
    if (made.code !== 0) return `no networks: ${lastLine(made.output)}`;
  } catch (error) {
    return `no namespaces: ${error instanceof Error ? error.message : String(error)}`;
  } finally {
    await runScript("remove-network.sh", [network], env).catch(() => undefined);
    rmSync(folder, { recursive: true, force: true });
  }
  return undefined;
}

/**
 * @param {string} name
 * @param {readonly string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
function runScript(name, args, env) {
  return run(fileURLToPath(import.meta.resolve(`#kubeadm-scripts/${name}`)), args, { env });
}

/** @param {string} output */
function lastLine(output) {
  return output.trim().split("\n").at(-1) ?? "";
}
