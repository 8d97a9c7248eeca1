import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { HostFile } from "../../src/bootstrap/host/host-file.js";
import { endOf, type ProgramEnd } from "../support/kubeadm-host.js";
import { removeFolder } from "../support/folders.js";

/** Programs that would change the machine, or ask somebody else: each writes down how it was called. */
const programs = ["apt-get", "apt-mark", "curl", "dpkg", "modprobe", "sleep", "sysctl", "swapoff"];
const nodePrograms = ["systemctl", "kubeadm", "kubelet", "kubectl", "containerd", "crio"];

/** Says what it was told to, and fails where the variable FAILING names the call. */
const recorder = (folder: string) =>
  [
    "#!/bin/sh",
    'call="$(basename "$0") $*"',
    `call=$(echo "$call" | sed 's|${folder}||g')`,
    `echo "$call" >> '${folder}/calls'`,
    `[ ! -e "${folder}/answers/$call" ] || cat "${folder}/answers/$call"`,
    `refusal="${folder}/refusals/$call"`,
    'if [ -s "$refusal" ]; then sed -i 1d "$refusal"; exit 100; fi',
    '[ "$call" != "$(printenv FAILING)" ]',
    "",
  ].join("\n");

/** A folder that scripts for hosts take for the root of a host, on which no program does anything. */
export class HostSandbox {
  constructor(
    readonly folder: string,
    osRelease: string,
  ) {
    for (const path of [
      "etc/apt/sources.list.d",
      "etc/containerd",
      "answers",
      "refusals",
      "var/log",
      "var/lib",
      "run",
      "dev",
      "bin",
    ]) {
      mkdirSync(join(folder, path), { recursive: true });
    }
    writeFileSync(join(folder, "etc/os-release"), osRelease);
    this.forgetCalls();
    const recording = join(folder, "recorder");
    writeFileSync(recording, recorder(folder), { mode: 0o755 });
    for (const name of [...programs, ...nodePrograms]) {
      symlinkSync(recording, join(folder, "bin", name));
    }
  }

  private get callFile(): string {
    return join(this.folder, "calls");
  }

  /** What was called so far, a line each. */
  get calls(): string[] {
    return readFileSync(this.callFile, "utf8").trimEnd().split("\n");
  }

  forgetCalls(): void {
    writeFileSync(this.callFile, "");
  }

  /** What a program prints when it is called so. */
  says(call: string, text: string): void {
    writeFileSync(join(this.folder, "answers", call), `${text}\n`);
  }

  /** A program fails so many times when it is called so. */
  refuses(call: string, times: number): void {
    writeFileSync(join(this.folder, "refusals", call), "refused\n".repeat(times));
  }

  write({ path, mode, content }: HostFile): void {
    const target = join(this.folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, this.inside(content));
    chmodSync(target, Number.parseInt(mode, 8));
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), "utf8");
  }

  /** As chmod has it. */
  mode(path: string): number {
    return statSync(join(this.folder, path)).mode & 0o777;
  }

  remove(): void {
    removeFolder(this.folder);
  }

  /** Runs a script that stands on the host. */
  run(script: string, env: Readonly<Record<string, string>> = {}): Promise<ProgramEnd> {
    const path = `${join(this.folder, "bin")}:${process.env["PATH"] ?? ""}`;
    return endOf("sh", [join(this.folder, script)], { ...env, PATH: path });
  }

  /** A text whose absolute paths lead into the folder; addresses and programs are left as they are. */
  private inside(text: string): string {
    return text.replace(
      /(^|[\s"'=>])(\/(?:etc|var|run|dev\/console)\b)/gm,
      (_, before: string, path: string) => `${before}${this.folder}${path}`,
    );
  }
}
