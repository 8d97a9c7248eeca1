import { FairLine, type Turn } from "./fair-line.js";

const nobodys: Turn = { namespace: "", name: "" };

/** So many at a time; those who wait take turns fairly, and those of one turn come in their order. */
export class Semaphore {
  private free: number;
  private readonly waiting = new FairLine<() => void>();

  constructor(limit: number) {
    this.free = limit;
  }

  /** Runs `work` when it is its turn. Rejects with what `work` rejects with. */
  async take<T>(work: () => Promise<T>, turn: Turn = nobodys): Promise<T> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((begin) => this.waiting.add(turn, begin));
    try {
      return await work();
    } finally {
      const next = this.waiting.next();
      if (next === undefined) this.free += 1;
      else next();
    }
  }
}
