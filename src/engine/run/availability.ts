import { nodeKey, type NodeKey } from "../../graph/graph.js";
import type { Target } from "../../records/target.js";
import { minReadyMsOf } from "../../plan/goal/set-deadlines.js";
import { shownIn } from "../../plan/observation.js";
import type { Observed } from "../../provider/port.js";
import type { Observation } from "./observe.js";

/** A host that runs, and what it has to show before it counts. */
interface Proof {
  readonly key: NodeKey;
  /** Milliseconds since the epoch; of a host that has nothing to show, now. */
  readonly readySinceMs: number;
  readonly minReadyMs: number;
}

function serves({ readySinceMs, minReadyMs }: Proof, nowMs: number): boolean {
  return minReadyMs === 0 || readySinceMs + minReadyMs < nowMs;
}

/**
 * Which hosts serve: ready, and for as long as their set's minReadySeconds ask. Where a cloud does not
 * say since when, it counts from the first look that showed it.
 */
export class AvailabilityTracker {
  private readonly firstSeenReadyMs = new Map<string, number>();
  private readonly minReadyMs: ReadonlyMap<NodeKey, number>;

  constructor(target: Target) {
    this.minReadyMs = minReadyMsOf(target);
  }

  /** Recorded or not. */
  among(observation: Observation, nowMs: number): ReadonlySet<NodeKey> {
    const running = this.running(observation, nowMs);
    return new Set(running.filter((host) => serves(host, nowMs)).map(({ key }) => key));
  }

  /** Those that run, but not for long enough yet. */
  proving(observation: Observation, nowMs: number): Proof[] {
    return this.running(observation, nowMs).filter((host) => !serves(host, nowMs));
  }

  private running(observation: Observation, nowMs: number): Proof[] {
    const running = shownIn(observation).filter(({ phase }) => phase === "ready");
    this.forgetAllBut(running);
    return running.map((host) => {
      const key = nodeKey(host.who.kind, host.who.name);
      const minReadyMs = this.minReadyMs.get(key) ?? 0;
      const readySinceMs = minReadyMs === 0 ? nowMs : this.readySinceMs(host, nowMs);
      return { key, minReadyMs, readySinceMs };
    });
  }

  private readySinceMs({ id, readySinceMs }: Observed, nowMs: number): number {
    const since = readySinceMs ?? this.firstSeenReadyMs.get(id) ?? nowMs;
    this.firstSeenReadyMs.set(id, since);
    return since;
  }

  /** One that stopped running starts anew. */
  private forgetAllBut(running: readonly Observed[]): void {
    const ids = new Set(running.map(({ id }) => id));
    for (const id of this.firstSeenReadyMs.keys()) {
      if (!ids.has(id)) this.firstSeenReadyMs.delete(id);
    }
  }
}
