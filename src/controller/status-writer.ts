import { isCapstanError } from "../api/error.js";
import type { ClusterView } from "../source/cluster-view.js";
import type { Clock } from "../provider/port.js";

/** Between two pictures of one cluster: people read no faster, and API servers have others to serve. */
const gapMs = 500;

/**
 * Shows a cluster while work on it goes on: the newest status counts, and nobody waits for its showing.
 * An API server that does not answer holds no work up; the last status is shown by who asks for it.
 */
export class StatusWriter {
  private newest: ClusterView | undefined;
  private showing: Promise<void> | undefined;
  private bug: { readonly error: unknown } | undefined;

  constructor(
    private readonly show: (view: ClusterView) => Promise<void>,
    private readonly clock: Clock,
  ) {}

  offer(view: ClusterView): void {
    this.newest = view;
    this.showing ??= this.work().catch((error: unknown) => {
      this.bug = { error };
    });
  }

  /** Shows the newest status. Throws what showing it failed with. */
  async settle(view: ClusterView): Promise<void> {
    await this.quiet();
    await this.show(view);
  }

  /** Shows nothing more from now on; resolves when what is being shown is. */
  async quiet(): Promise<void> {
    this.newest = undefined;
    await this.showing;
    if (this.bug !== undefined) throw this.bug.error;
  }

  private async work(): Promise<void> {
    while (this.newest !== undefined) {
      const view = this.newest;
      this.newest = undefined;
      try {
        await this.show(view);
      } catch (error) {
        // An API server that is away stops nothing; it is told of by who asks for the last status.
        if (!isCapstanError(error)) throw error;
      }
      await this.clock.sleep(gapMs);
    }
    this.showing = undefined;
  }
}
