import { type ChildProcess, spawn } from "node:child_process";
import { CapstanError } from "../../api/error.js";
import type { Workspace } from "../backend/workspace.js";

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
   * Told the engine's pid as soon as it runs, and undefined once it has ended. An engine of which it could
   * not be told, since it threw, is killed: then the run rejects with what it threw.
   */
  onEngine?(pid: number | undefined): void;
  /** First abort: the engine is asked to stop; it finishes what is in flight. */
  readonly stop?: AbortSignal;
  /** The engine and everything under it is killed. */
  readonly kill?: AbortSignal;
}

/** How much of the engine's output is kept for error messages. */
const keptCharacters = 64 * 1024 * 1024;

/**
 * Runs Pulumi's command line in a process group of its own and waits for its end. Never reads from
 * the terminal. Resolves whatever the exit code; throws TOOLCHAIN when it cannot be started.
 */
export function runPulumi(
  pulumi: string,
  workspace: Workspace,
  run: PulumiRun,
): Promise<PulumiResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(pulumi, [...run.args, "--non-interactive"], {
      cwd: workspace.workDir,
      env: { ...workspace.engineEnv(), ...run.env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    const stdout = collect(child.stdout);
    const stderr = collect(child.stderr);
    const interrupt = () => signalGroup(child, "SIGINT");
    const kill = () => signalGroup(child, "SIGKILL");
    run.stop?.addEventListener("abort", interrupt);
    run.kill?.addEventListener("abort", kill);
    let untold: { readonly error: unknown } | undefined;
    const tell = (pid: number | undefined) => {
      try {
        run.onEngine?.(pid);
      } catch (error) {
        untold ??= { error };
      }
    };
    child.once("spawn", () => {
      tell(child.pid);
      if (untold !== undefined) kill();
    });
    child.once("error", (cause) =>
      reject(
        new CapstanError({
          code: "TOOLCHAIN",
          source: "user",
          message: `cannot start ${pulumi}: ${cause.message}`,
          hint: "run npm start once, or set CAPSTAN_PULUMI to a Pulumi command line",
          cause,
        }),
      ),
    );
    child.once("close", (code) => {
      run.stop?.removeEventListener("abort", interrupt);
      run.kill?.removeEventListener("abort", kill);
      const unrecorded = untold;
      // That it has ended is what a record of it says anyway, whoever looks.
      tell(undefined);
      if (unrecorded !== undefined) reject(asError(unrecorded.error));
      else resolve({ code, stdout: stdout(), stderr: stderr() });
    });
  });
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= keptCharacters) chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString("utf8");
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It has ended in between.
  }
}
