import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { descendantsOf, isAlive, killAll, SeenProcesses, stopTrees } from "./process-tree.js";
import { until } from "./until.js";

export interface Outcome {
  /** null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** A program that runs in a process group of its own, as a shell would start it. */
export class Command {
  readonly finished: Promise<Outcome>;
  private readonly child: ChildProcess;
  private readonly seen = new SeenProcesses();
  private awaited: { readonly text: string; readonly tell: () => void } | undefined;
  private stdout = "";
  private stderr = "";

  constructor(program: string, args: readonly string[], options: CommandOptions) {
    this.child = spawn(program, args, {
      ...options,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    this.child.stdout?.on("data", (chunk: Buffer) => (this.stdout += chunk.toString()));
    this.child.stderr?.on("data", (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.child.stderr?.on("data", () => this.heard());
    this.finished = new Promise((resolve, reject) => {
      this.child.once("error", reject);
      this.child.once("close", (code) =>
        resolve({ code, stdout: this.stdout, stderr: this.stderr }),
      );
    });
    this.finished.catch(() => {}); // Whoever waits for the end hears of it.
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error("the program could not be started");
    return this.child.pid;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Everything it printed so far. */
  get said(): string {
    return this.stdout + this.stderr;
  }

  /** Calls `tell` in the very moment in which it has said `text` to its standard error. */
  whenSaid(text: string, tell: () => void): void {
    this.awaited = { text, tell };
    this.heard();
  }

  /** The processes under it. Once seen here they belong to its tree, even if they outlive it. */
  get descendants(): number[] {
    return this.noteTree();
  }

  /** What runs under it now belongs to its tree from now on, even if it outlives it. */
  noteTree(): number[] {
    const descendants = this.hasEnded ? [] : descendantsOf(this.pid);
    this.seen.note(descendants);
    return descendants;
  }

  /** What it started and lives on after its end. */
  get leftovers(): number[] {
    return this.seen.living;
  }

  private heard(): void {
    const { awaited } = this;
    if (awaited === undefined || !this.stderr.includes(awaited.text)) return;
    this.awaited = undefined;
    awaited.tell();
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** SIGKILL to it alone: what it started lives on. */
  async killAlone(): Promise<void> {
    assert.notEqual(this.descendants.length, 0, "it has started something");
    this.signal("SIGKILL");
    await this.finished;
  }

  /** SIGKILL to it and to everything under it at once, and waits for their end. */
  async killTree(): Promise<void> {
    const own = this.hasEnded ? [] : [this.pid];
    const tree = await stopTrees([...own, ...this.leftovers]);
    killAll(tree);
    await until("the killed processes end", () => !tree.some(isAlive));
    await this.finished;
  }
}

/** Runs a program to its end. */
export function run(
  program: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<Outcome> {
  return new Command(program, args, options).finished;
}
