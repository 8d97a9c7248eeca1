import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Path of a script of providers/local/kubeadm/scripts, which is found by the package: this file may be part of a bundle. */
export function scriptPath(name: string): string {
  return fileURLToPath(import.meta.resolve(`#kubeadm-scripts/${name}`));
}

/** The first process of namespaces. */
export interface NamespaceRoot {
  /** Outside of its own namespace of processes. */
  readonly pid: number;
  /** Fulfilled when it is gone, however that came, and what it left is removed. */
  readonly ended: Promise<unknown>;
  /** Ends everything in the namespaces, and waits until what they left is removed. */
  end(): Promise<void>;
}

/**
 * Starts a program that makes namespaces, says "ready PID" once they are ready, and ends with its standard input:
 * however this process ends, it ends with it. Throws an Error with its output when it ends before it is ready.
 */
export async function startNamespaces(
  program: string,
  args: readonly string[],
): Promise<NamespaceRoot> {
  // A group of its own, so that Ctrl-C reaches it by way of this process, which has something to say before.
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], detached: true });
  // What nobody has ended shall not keep this process alive.
  for (const one of [child, ...child.stdio]) (one as { unref?: () => void } | null)?.unref?.();
  const ended = once(child, "close");
  const pid = await readyPid(child, ended);
  return {
    pid,
    ended,
    async end() {
      child.stdin.end();
      await ended;
    },
  };
}

function readyPid({ stdout, stderr }: ChildProcess, ended: Promise<unknown>): Promise<number> {
  const lines: string[] = [];
  return new Promise((resolve, reject) => {
    for (const stream of [stdout, stderr]) {
      if (stream === null) continue;
      createInterface(stream).on("line", (line) => {
        lines.push(line);
        const [, pid] = /^ready (\d+)$/.exec(line) ?? [];
        if (pid !== undefined) resolve(Number(pid));
      });
    }
    void ended.then(() => reject(new Error(`it ended at once:\n${lines.join("\n")}`)));
  });
}

/** What a program reads and how long it may take. */
export interface ProgramOptions {
  readonly input?: string | Readable;
  readonly timeoutMs?: number;
}

/** Runs a program of this machine; its output. Throws an Error with both outputs when it fails. */
export async function output(
  program: string,
  args: readonly string[],
  { input = "", timeoutMs = 60_000 }: ProgramOptions = {},
): Promise<string> {
  const options = { timeout: timeoutMs, maxBuffer: 64 * 1024 * 1024 };
  const running = execute(program, args, options);
  const { stdin } = running.child;
  // A program may end before it has read all.
  if (stdin !== null) pipeline(input, stdin).catch(() => undefined);
  try {
    return (await running).stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(" ")} failed:\n${stdout}${stderr}`, { cause: error });
  }
}
