// Calls that stand still until somebody lets them go.

/** How a held call goes on: as if nothing had been, or without an answer. */
type Release = "go" | "cut";

/** Where a call is held: before its effect, or after it. */
interface HeldCall {
  readonly seq: number;
  readonly action: string;
  readonly when: string;
}

export class HeldCalls {
  private readonly held = new Map<number, HeldCall & { readonly let: (how: Release) => void }>();
  private readonly waiters: (() => void)[] = [];

  /** Resolves when the call is let go. */
  hold(call: HeldCall): Promise<Release> {
    return new Promise((resolve) => {
      this.held.set(call.seq, { ...call, let: resolve });
      for (const wake of this.waiters.splice(0)) wake();
    });
  }

  list(): HeldCall[] {
    return [...this.held.values()].map(({ seq, action, when }) => ({ seq, action, when }));
  }

  /** The same, as soon as there is one; waits for no longer than `timeout` does. */
  async waitForOne(timeout: Promise<void>): Promise<HeldCall[]> {
    if (this.held.size > 0) return this.list();
    await Promise.race([timeout, new Promise<void>((wake) => this.waiters.push(wake))]);
    return this.list();
  }

  /** Lets one call go, or all of them; answers how many. */
  release(how: Release, seq?: number): number {
    const going = [...this.held.values()].filter((call) => seq === undefined || call.seq === seq);
    for (const call of going) {
      this.held.delete(call.seq);
      call.let(how);
    }
    return going.length;
  }
}
