import { omitUndefined } from "../../api/omit-undefined.js";
import type { ResourceEvent } from "../../dynamic/resource-event.js";
import { failureOf } from "../../dynamic/call-failures.js";
import { Removals } from "../../dynamic/removals.js";
import { gaveUpWaiting } from "../../dynamic/resource-refusals.js";
import { type NodeKey, nodeKey } from "../../graph/graph.js";
import { type Backoff, backoffMs } from "../../provider/backoff.js";

/** Between two engine runs that ask for what the cloud refuses for now. */
const refusedBackoff: Backoff = { firstMs: 1_000, factor: 2, maxMs: 30_000 };
/** An accepted deletion whose answer was lost may not have happened: it is asked for again so often. */
const acceptedAgainMs = 60_000;

/** What the passes of a run have asked the cloud to delete and is not gone yet. */
export class Terminations {
  /** What the cloud has accepted of it and may still refuse. */
  readonly removals = new Removals();
  private readonly sinceMs = new Map<NodeKey, number>();
  private readonly open = new Map<NodeKey, ResourceEvent>();
  /** Passes after one another that have put something off and deleted nothing. */
  private asked = 0;

  /** `timeoutMs`: how long a deletion may take, from the first time that it was asked for. */
  constructor(private readonly timeoutMs: number) {}

  get keys(): readonly NodeKey[] {
    return [...this.open.keys()];
  }

  /** What the pass before has put off says nothing about the next. */
  beginPass(): void {
    this.open.clear();
  }

  putOff(event: ResourceEvent, nowMs: number): void {
    const key = nodeKey(event.kind, event.name);
    this.open.set(key, event);
    if (!this.sinceMs.has(key)) this.sinceMs.set(key, nowMs);
  }

  /** `hasDeleted`: what others stood in the way of may go now, so that it is asked for as if for the first time. */
  endPass(hasDeleted: boolean): void {
    if (this.open.size === 0) this.asked = 0;
    else this.asked = hasDeleted ? 1 : this.asked + 1;
  }

  /**
   * Whether another pass is due after `waitedMs`: at once when none is there any more, but later and later
   * where the cloud showed that before and a deletion has found it otherwise.
   */
  isDue(present: ReadonlySet<NodeKey>, waitedMs: number): boolean {
    const again = backoffMs(refusedBackoff, this.asked);
    const allGone = this.keys.every((key) => !present.has(key));
    if (allGone) return this.asked <= 1 || waitedMs >= again;
    const isRefused = [...this.open.values()].some(({ code }) => code !== undefined);
    return waitedMs >= (isRefused ? again : acceptedAgainMs);
  }

  /** Of each that has taken too long: a failure with what the cloud refuses it for, DEADLINE where it accepted. */
  overdue(nowMs: number): ResourceEvent[] {
    return [...this.open].flatMap(([key, event]) => {
      if (nowMs - (this.sinceMs.get(key) ?? nowMs) <= this.timeoutMs) return [];
      const { kind, name } = event;
      const waitedFor = `${kind} ${name} to go away`;
      const why =
        event.code === undefined ? failureOf(gaveUpWaiting(waitedFor, this.timeoutMs)) : {};
      return [omitUndefined<ResourceEvent>({ ...event, ...why, state: "failed" })];
    });
  }

  reason(): string {
    const names = [...this.open.values()].map(({ kind, name }) => `${kind} ${name}`);
    const shown = names.length > 3 ? [...names.slice(0, 3), `${names.length - 3} more`] : names;
    return `the cloud is deleting ${shown.join(", ")}`;
  }
}
