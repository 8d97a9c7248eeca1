import { type ChildProcess, spawn } from "node:child_process";
import { Writable } from "node:stream";
import { CapstanError } from "../../api/error.js";
import type { Workspace } from "../backend/workspace.js";
import { signalGroup } from "../locks/process-identity.js";

export interface PulumiResult {
  /** null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface PulumiRun {
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /**
   * Told the pid of the engine before it begins: it begins once this has resolved. When it throws, no engine has run, and
   * the run rejects with what it threw.
   */
  readonly onBegin?: (pid: number) => Promise<void>;
  /**
   * Told once it has ended, with its exit code, null when a signal ended it, undefined when none has run. What it throws is lost: that an
   * engine has ended can be seen.
   */
  readonly onEnd?: (code: number | null | undefined) => Promise<void>;
  /** First abort: the engine is asked to stop; it finishes what is in flight. */
  readonly stop?: AbortSignal;
  /** The engine and everything under it is killed. */
  readonly kill?: AbortSignal;
}

/**
 * A shell that becomes the engine once it is told to, and ends when whoever started it does before: so an engine is known
 * before it does anything.
 */
const whenTold = 'read -r told <&3 && exec "$0" "$@" 3<&-';

/** What a shell ends with that cannot become a program. Source: POSIX.1-2024, 2.8.2. */
const notExecuted = new Set<number | null>([126, 127]);

/** How much of the engine's output is kept for error messages. */
const keptCharacters = 64 * 1024 * 1024;

/**
 * Runs Pulumi's command line in a process group of its own and waits for its end. Never reads from
 * the terminal. Resolves whatever the exit code; throws TOOLCHAIN when it cannot be started.
 */
export async function runPulumi(
  pulumi: string,
  workspace: Workspace,
  run: PulumiRun,
): Promise<PulumiResult> {
  const child = spawn("/bin/sh", ["-c", whenTold, pulumi, ...run.args, "--non-interactive"], {
    cwd: workspace.workDir,
    env: { ...workspace.engineEnv(), ...run.env },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    detached: true,
  });
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const ended = endOf(child);
  const kill = () => signalAll(child, "SIGKILL");
  run.kill?.addEventListener("abort", kill);
  const begun = begin(child, run);
  // What is asked of an engine that has not begun yet is told to it then: a shell would not know what to do.
  const interrupt = () => void begun.then(() => signalAll(child, "SIGINT")).catch(() => undefined);
  run.stop?.addEventListener("abort", interrupt);
  let code: number | null | undefined;
  try {
    await begun;
    code = await ended;
    if (notExecuted.has(code)) throw notStarted(pulumi, stderr());
    return { code, stdout: stdout(), stderr: stderr() };
  } catch (error) {
    kill();
    await ended.catch(() => undefined);
    throw error;
  } finally {
    run.stop?.removeEventListener("abort", interrupt);
    run.kill?.removeEventListener("abort", kill);
    await run.onEnd?.(code).catch(() => undefined);
  }
}

/** Lets the engine begin once it is known. */
async function begin(child: ChildProcess, { onBegin }: PulumiRun): Promise<void> {
  if (child.pid !== undefined) await onBegin?.(child.pid);
  const [, , , gate] = child.stdio;
  // Whoever has been killed while it waited reads nothing any more; how it ended says so.
  gate?.on("error", () => undefined);
  if (gate instanceof Writable) gate.end("begin\n");
}

/** The exit code, null when a signal ended it. Rejects with TOOLCHAIN when there is no shell, or no folder to work in. */
function endOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once("error", (cause) => reject(notStarted("/bin/sh", cause.message)));
    child.once("close", resolve);
  });
}

function notStarted(program: string, why: string): CapstanError {
  return new CapstanError({
    code: "TOOLCHAIN",
    source: "user",
    message: `cannot start ${program}: ${why.trim()}`,
    hint: "run npm start once, or set CAPSTAN_PULUMI to a Pulumi command line",
  });
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream?.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= keptCharacters) chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString("utf8");
}

function signalAll({ pid, exitCode }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid !== undefined && exitCode === null) signalGroup(pid, signal);
}
