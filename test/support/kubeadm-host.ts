import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findKubeadm } from "#kubernetes";
import type { HostBootstrap } from "../../src/bootstrap/host/host-bootstrap.js";

/** What a program printed, on both of its ways out, and how it ended. */
export interface ProgramEnd {
  readonly code: number;
  readonly output: string;
}

const timeoutMs = 200_000;

/** Runs a program to its end, whatever that is. */
export function endOf(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...env }, timeout: timeoutMs };
    execFile(program, args, { ...options, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
      resolve({ code, output: `${stdout}${stderr}` });
    });
  });
}

/** Fails, with the end of what it printed, unless it succeeded. */
export function assertAccepted({ code, output }: ProgramEnd): void {
  assert.equal(code, 0, output.trimEnd().split("\n").slice(-30).join("\n"));
}

/** kubeadm changes into the host's folder, which takes root, if only that of a namespace. */
const isRoot = process.getuid?.() === 0;
const dryRunFolder = "/dry-run";

/** A folder with the files that user data brings to a host, in which kubeadm runs as on the host. */
export class KubeadmHost {
  constructor(
    readonly folder: string,
    bootstrap: HostBootstrap,
  ) {
    mkdirSync(this.path(dryRunFolder), { recursive: true });
    for (const { path, mode, content } of bootstrap.files) {
      mkdirSync(dirname(this.path(path)), { recursive: true });
      writeFileSync(this.path(path), content, { mode: Number.parseInt(mode, 8) });
    }
  }

  /** Where one of the host's files is. */
  path(onHost: string): string {
    return join(this.folder, onHost);
  }

  read(onHost: string): string {
    return readFileSync(this.path(onHost), "utf8");
  }

  /** What a dry run has written, of a version that keeps it together. */
  readDry(name: string): string {
    return this.read(join(dryRunFolder, name));
  }

  kubeadm(version: string, ...args: string[]): Promise<ProgramEnd> {
    const kubeadm = findKubeadm(version, process.env);
    assert.ok(kubeadm !== undefined, `no kubeadm ${version}: run npm test, which sets it up`);
    const config = ["--config", "/etc/kubernetes/kubeadm.yaml"];
    const inside = ["--rootfs", this.folder, ...args, ...config];
    const env = { KUBEADM_INIT_DRYRUN_DIR: dryRunFolder, KUBEADM_JOIN_DRYRUN_DIR: dryRunFolder };
    return isRoot
      ? endOf(kubeadm, inside, env)
      : endOf("unshare", ["--map-root-user", kubeadm, ...inside], env);
  }
}
