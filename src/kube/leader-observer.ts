import { CapstanError } from "../api/error.js";
import type { LeaseClock } from "./lease-clock.js";
import type { LeaseStore } from "./lease.js";
import { saidBy } from "./requests.js";

/** Whether a controller leads, as it looks to who does not contend: held, and renewed in time. */
export class LeaderObserver {
  private seen: { readonly version: string; readonly atMs: number } | undefined;

  constructor(
    private readonly store: Pick<LeaseStore, "read">,
    private readonly clock: Pick<LeaseClock, "steadyMs">,
  ) {}

  /** One whose holder has died counts until it has not been renewed for its whole time. Throws API_SERVER. */
  async isLed(signal: AbortSignal): Promise<boolean> {
    const lease = await this.store.read(signal).catch((error: unknown) => {
      throw new CapstanError({
        code: "API_SERVER",
        source: "engine",
        message: `cannot find out whether a controller runs: ${saidBy(error)}`,
        retryable: true,
        cause: error,
      });
    });
    if (lease === undefined || lease.holder === "") return false;
    const nowMs = this.clock.steadyMs();
    if (lease.version !== this.seen?.version) this.seen = { version: lease.version, atMs: nowMs };
    return nowMs - this.seen.atMs <= lease.durationMs;
  }
}
