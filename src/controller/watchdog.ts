import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { CapstanError } from "../api/error.js";
import { saidNow } from "../kube/lease-clock.js";
import { identify } from "../engine/locks/process-identity.js";
import type { EngineGuard } from "../engine/pulumi/engine-options.js";

type Warden = ChildProcessByStdio<Writable, Readable, null>;

/** Who waits until the process knows an engine. */
interface Waiting {
  readonly known: () => void;
  readonly failed: (error: CapstanError) => void;
}

/**
 * Ends the engines of whoever leads before the lease ends, from a process of its own: a controller that is frozen or dead ends
 * nothing. Without that process no engine begins.
 */
export class EngineWatchdog implements EngineGuard {
  private readonly waiting = new Map<number, Waiting>();
  private isClosed = false;
  private hasEnded = false;

  private constructor(
    private readonly warden: Warden,
    lost: () => void,
  ) {
    createInterface({ input: warden.stdout }).on("line", (pid) => this.take(Number(pid))?.known());
    // What cannot be written any more is told by the end of the process.
    warden.stdin.on("error", () => undefined);
    warden.once("exit", () => {
      this.hasEnded = true;
      for (const pid of [...this.waiting.keys()]) this.take(pid)?.failed(unguarded());
      if (!this.isClosed) lost();
    });
  }

  /** Starts the process. `lost` is called when it ends by itself: engines that run are unguarded then. */
  static async start(lost: () => void): Promise<EngineWatchdog> {
    const program = fileURLToPath(import.meta.resolve("#watchdog-process"));
    const warden = spawn(process.execPath, [program], {
      stdio: ["pipe", "pipe", "inherit"],
      // A signal to the controller's group is not for it: it ends after the controller.
      detached: true,
    });
    await once(warden, "spawn");
    return new EngineWatchdog(warden, lost);
  }

  /** Its pid; undefined once it has ended. */
  get pid(): number | undefined {
    return this.hasEnded ? undefined : this.warden.pid;
  }

  /** Engines may run for so long from now on, milliseconds. */
  extend(leftMs: number): void {
    this.tell({ leftMs, said: saidNow() });
  }

  /** Resolves once the process knows the engine, which has not begun yet. Throws ENGINE_DEAD when it never will. */
  async begins(pid: number): Promise<void> {
    const engine = identify(pid);
    if (engine === undefined) return;
    if (this.hasEnded || this.isClosed) throw unguarded();
    const isKnown = new Promise<void>((known, failed) => this.waiting.set(pid, { known, failed }));
    this.tell({ begins: engine });
    await isKnown;
  }

  ended(pid: number): void {
    this.tell({ ended: pid });
  }

  /** Ends the process, and every engine that still runs. */
  close(): void {
    this.isClosed = true;
    this.warden.stdin.end();
  }

  private take(pid: number): Waiting | undefined {
    const waiting = this.waiting.get(pid);
    this.waiting.delete(pid);
    return waiting;
  }

  private tell(word: object): void {
    if (!this.isClosed && !this.hasEnded) this.warden.stdin.write(`${JSON.stringify(word)}\n`);
  }
}

function unguarded(): CapstanError {
  return new CapstanError({
    code: "ENGINE_DEAD",
    source: "engine",
    message: "cannot begin an engine: the process that would end it with the lease has ended",
    hint: "the controller ends, and begins again when it is started",
    retryable: true,
  });
}
