import { nodeKey, type NodeKey } from "../graph/graph.js";
import type { Target } from "../plan/target.js";
import { minReadyMsOf } from "../plan/owner.js";
import type { Observed } from "../provider/port.js";
import type { Look } from "./look.js";

/**
 * Which hosts serve: ready, and for as long as their set's minReadySeconds ask. Where a cloud does not
 * say since when, it counts from the first look that showed it.
 */
export class Availability {
  private readonly firstSeenReadyMs = new Map<string, number>();
  private readonly minReadyMs: ReadonlyMap<NodeKey, number>;

  constructor(target: Target) {
    this.minReadyMs = minReadyMsOf(target);
  }

  /** Recorded or not. */
  among({ sightings, strangers }: Look, nowMs: number): ReadonlySet<NodeKey> {
    const running = [...sightings.values(), ...strangers].filter(
      (one): one is Observed => one !== "gone" && one.phase === "ready",
    );
    this.forgetAllBut(running);
    const serving = running.filter((host) => {
      const waitMs = this.minReadyMs.get(nodeKey(host.who.kind, host.who.name)) ?? 0;
      return waitMs === 0 || this.readySinceMs(host, nowMs) + waitMs < nowMs;
    });
    return new Set(serving.map(({ who }) => nodeKey(who.kind, who.name)));
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
