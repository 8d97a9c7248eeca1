import { CapstanError, messageOf } from "../api/error.js";
import type { Clock, Identity } from "../provider/port.js";
import type { ResourceEvent } from "./resource-event.js";

/** How long one engine run looks after what it has asked the cloud to delete, milliseconds. */
const graceMs = 1_000;

/**
 * Deletions that an engine run asks for and does not wait for: Pulumi is told that they failed, so that it
 * keeps their records, and whoever runs the passes waits without an engine (architecture section 6).
 */
export class Postponement {
  private endsAtMs: number | undefined;

  /** `tell`: each deletion that is put off, with what the cloud has refused it for; without a code it is under way. */
  constructor(
    private readonly clock: Clock,
    readonly tell: (event: ResourceEvent) => void,
  ) {}

  /** When this engine run waits no longer, milliseconds since the epoch: counted from its first deletion. */
  endsAt(): number {
    this.endsAtMs ??= this.clock.now() + graceMs;
    return this.endsAtMs;
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
