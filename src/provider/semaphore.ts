import { FairLine, type Turn } from "./fair-line.js";

const nobodys: Turn = { namespace: "", name: "" };

interface Limits {
  /** How many work at a time. */
  readonly limit: number;
  /** Of these so many are kept for namespaces of which nothing works; fewer than the limit. */
  readonly kept: number;
}

/**
 * So many at a time; those who wait take turns fairly, and those of one turn come in their order. A namespace never holds all of them
 * where some are kept.
 */
export class Semaphore {
  private free: number;
  private readonly kept: number;
  private readonly waiting = new FairLine<() => void>();
  /** How many work of each namespace. */
  private readonly working = new Map<string, number>();

  constructor(limits: number | Limits) {
    const { limit, kept } = typeof limits === "number" ? { limit: limits, kept: 0 } : limits;
    this.free = limit;
    this.kept = kept;
  }

  /** Runs `work` when it is its turn. Rejects with what `work` rejects with. */
  async take<T>(work: () => Promise<T>, turn: Turn = nobodys): Promise<T> {
    await new Promise<void>((begin) => {
      this.waiting.add(turn, () => {
        this.count(turn.namespace, 1);
        begin();
      });
      this.serve();
    });
    try {
      return await work();
    } finally {
      this.count(turn.namespace, -1);
      this.serve();
    }
  }

  private serve(): void {
    while (this.free > 0) {
      const begin = this.waiting.next(
        (namespace) => this.free > this.kept || !this.working.has(namespace),
      );
      if (begin === undefined) return;
      begin();
    }
  }

  private count(namespace: string, change: 1 | -1): void {
    this.free -= change;
    const count = (this.working.get(namespace) ?? 0) + change;
    if (count === 0) this.working.delete(namespace);
    else this.working.set(namespace, count);
  }
}
