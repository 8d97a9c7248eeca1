import { CapstanError, messageOf } from "../api/error.js";
import type { Clock, CloudTiming, Identity } from "../provider/port.js";
import type { ResourceEvent } from "./resource-event.js";

/** An engine run looks so long at least after what it has asked the cloud to delete, milliseconds. */
const leastGraceMs = 1_000;

/**
 * Deletions that an engine run asks for and does not wait for: Pulumi is told that they failed, so that it
 * keeps their records, and whoever runs the passes waits without an engine (architecture section 6).
 */
export class Postponement {
  private endsAtMs: number | undefined;

  private readonly graceMs: number;

  /** `tell`: each deletion that is put off, with what the cloud has refused it for; without a code it is under way. */
  constructor(
    private readonly clock: Clock,
    { listingLagMs }: Pick<CloudTiming, "listingLagMs">,
    readonly tell: (event: ResourceEvent) => void,
  ) {
    // What goes at once still shows for as long as the cloud's answers lag.
    this.graceMs = Math.max(leastGraceMs, listingLagMs);
  }

  /**
   * When this engine run waits no longer, milliseconds since the epoch: counted from its first deletion, and
   * anew from each that is done, so that it waits on while what depends on one another goes one by one.
   */
  endsAt(): number {
    this.endsAtMs ??= this.clock.now() + this.graceMs;
    return this.endsAtMs;
  }

  progressed(): void {
    this.endsAtMs = undefined;
  }

  isOver(): boolean {
    return this.clock.now() >= this.endsAt();
  }
}

/** DEADLINE: no failure of the deletion, but all that Pulumi understands. */
export class Postponed extends CapstanError {
  constructor(
    kind: string,
    { name }: Pick<Identity, "name">,
    readonly refusal?: unknown,
  ) {
    const why = refusal === undefined ? "the cloud is still deleting it" : messageOf(refusal);
    super({
      code: "DEADLINE",
      source: "cloud",
      subject: name,
      message: `${kind} ${name} is not gone yet: ${why}`,
      retryable: true,
    });
  }
}
