import { availableParallelism, loadavg } from "node:os";

/** Where time passes, and how fast work gets on there. */
export interface LoadedMachine {
  nowMs(): number;
  /** How many times as long work takes now as on the same machine when nothing else runs. */
  slowdown(): number;
}

/** Tasks that run or wait to run, for each processor: so many share one of them. Pure. */
export function slowdownOf(load: number, processors: number): number {
  return Math.max(1, load / Math.max(1, processors));
}

/** This machine. Its load is that of the last minute; where the system tells none, it is idle. */
export const thisMachine: LoadedMachine = {
  nowMs: () => performance.now(),
  slowdown: () => slowdownOf(loadavg()[0] ?? 0, availableParallelism()),
};

/**
 * The time that a machine had for one of its tasks, milliseconds: a deadline in it is reached later on a loaded machine, so that
 * a hang is told from a load. It is counted from one look to the next, so whoever waits looks often.
 */
export class ServedTime {
  private servedMs = 0;
  private atMs: number;

  constructor(private readonly machine: LoadedMachine = thisMachine) {
    this.atMs = machine.nowMs();
  }

  /** Since it was made. */
  elapsedMs(): number {
    const nowMs = this.machine.nowMs();
    this.servedMs += (nowMs - this.atMs) / this.machine.slowdown();
    this.atMs = nowMs;
    return this.servedMs;
  }
}
