import { sameJson, type JsonObject } from "../api/json.js";
import { type VerdictGiver, choicesOf, differenceText, isAmong } from "../provider/alternatives.js";
import { backoffMs } from "../provider/backoff.js";
import type {
  CallContext,
  CreateContext,
  Identity,
  InfrastructureProvider,
  Observed,
  Presence,
  ResourceHandler,
} from "../provider/port.js";
import { looksAt, timingOf } from "../provider/timing.js";
import type { Attempts } from "./attempts.js";
import { isRetryable, isWithoutRoom, mayHaveHappened } from "./call-failures.js";
import type { Patience } from "./patience.js";
import type { Asked } from "./recorded.js";

/** How long after a lost answer a listing may still lag behind before "none" is believed. */
const leastSettleMs = 2_000;

/** What a creation does in the course of its resource, which knows more of it. */
interface Surroundings {
  readonly context: CallContext;
  readonly patience: Patience;
  /** What is there under an identity. Throws what nobody can tell. */
  readonly locate: (who: Identity) => Promise<Presence>;
  /** As what is there already, if it is one and ours. Throws SEVERAL_FOUND and NOT_OURS. */
  readonly adopted: (presence: Presence, who: Identity) => Observed;
  /** The error of a creation that has reached the cloud all the same, with what is to be recorded of it. */
  readonly unfinished: (resource: Observed, asked: JsonObject, error: unknown) => unknown;
  /** Throws where the cloud has refused what the resource is made after. */
  readonly needsStand: (who: Identity, attempt: "first" | "again") => Promise<void>;
  /** What a host was refused as before, for want of room. Empty of other kinds. */
  readonly withoutRoom: (who: Identity) => readonly JsonObject[];
  /** Tells what a creation waits for, or what it does about it. */
  readonly waits: (name: string, error: unknown, remedy?: string) => void;
}

/**
 * Makes one resource of an identity, or finds it. Architecture rule 5.4: a create that may have reached the cloud is looked
 * for again before it is repeated, with the same token, so that a lost answer makes neither an orphan nor a duplicate.
 */
export class FindOrCreate {
  private readonly settleMs: number;

  constructor(
    private readonly provider: VerdictGiver & Pick<InfrastructureProvider, "timing">,
    private readonly kind: string,
    private readonly handler: ResourceHandler,
    private readonly around: Surroundings,
  ) {
    this.settleMs = Math.max(leastSettleMs, timingOf(provider).listingLagMs);
  }

  /**
   * Where the cloud positively has no room, the next alternative is asked for: nothing was made. A host that follows others
   * for which there was no room after they were accepted is none of what these were.
   */
  async run(context: CreateContext, who: Identity, spec: JsonObject): Promise<Observed> {
    const { patience, locate, adopted, waits, needsStand } = this.around;
    const attempts = patience.attemptsUntil(patience.deadline());
    const alternatives = this.choicesFor(who, spec);
    let asked = alternatives.shift() ?? spec;
    let presence = await locate(who);
    if (presence.found === "none") await needsStand(who, "first");
    for (;;) {
      if (presence.found !== "none") return adopted(presence, who);
      await context.assertEngineAlive();
      try {
        return await this.handler.create(context, who, asked);
      } catch (error) {
        const next = isWithoutRoom(error) ? alternatives.shift() : undefined;
        if (next === undefined) {
          presence = await this.afterFailure({ who, spec: asked }, error, attempts);
        } else {
          waits(who.name, error, `; next: ${differenceText(asked, next)}`);
          asked = next;
        }
      }
    }
  }

  private choicesFor(who: Identity, spec: JsonObject): JsonObject[] {
    const { provider, kind, around } = this;
    const refused = around.withoutRoom(who);
    return choicesOf(provider, kind, spec).filter(
      (choice) => !isAmong(provider, kind, choice, refused),
    );
  }

  /**
   * What is there after a create that failed, if it may be tried again. Otherwise throws what ends
   * it, with the id of what reached the cloud all the same.
   */
  private async afterFailure(asked: Asked, error: unknown, attempts: Attempts): Promise<Presence> {
    const { who } = asked;
    const { clock, signal } = this.around.context;
    const open = mayHaveHappened(error);
    try {
      if (!signal.aborted) await this.around.needsStand(who, "again");
      if (signal.aborted || (!open && !isRetryable(error))) throw error;
      const waitMs = attempts.waitMsAfter(error, clock.now());
      this.around.waits(who.name, error);
      await clock.sleep(waitMs, signal);
      return open ? await this.locateSettled(who) : { found: "none" };
    } catch (end) {
      throw open || signal.aborted ? await this.lastLook(asked, end) : end;
    }
  }

  /** An unanswered create may have reached the cloud: one last look, so that its id is recorded. */
  private async lastLook({ who, spec }: Asked, error: unknown): Promise<unknown> {
    const context = { ...this.around.context, signal: AbortSignal.timeout(this.settleMs) };
    const presence = await this.handler
      .locate(context, who)
      .catch((): Presence => ({ found: "none" }));
    if (presence.found !== "one" || !sameJson(presence.resource.who, who)) return error;
    return this.around.unfinished(presence.resource, spec, error);
  }

  /** After a lost answer: looks until something is found or listings had time to catch up. */
  private async locateSettled(who: Identity): Promise<Presence> {
    const { clock, signal } = this.around.context;
    const settled = clock.now() + this.settleMs;
    for (let looks = 1; ; looks += 1) {
      const presence = await this.around.locate(who);
      if (presence.found !== "none" || clock.now() >= settled) return presence;
      await clock.sleep(backoffMs(looksAt(this.handler), looks), signal);
    }
  }
}
