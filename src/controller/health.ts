import { counted } from "../api/counted.js";
import type { Clock } from "../provider/port.js";
import type { EngineLineState } from "./engine-line.js";
import type { QueueState } from "./queue.js";

/** The work of a controller at one moment. */
export interface WorkState extends QueueState {
  readonly engines: EngineLineState;
}

interface HealthLimits {
  /** Nothing has moved for so long although clusters wait, or runs for engines: no pass and no call takes that long. */
  readonly stuckAfterMs: number;
  /** Work on one cluster has shown no progress for so long: it hangs. However long it takes, it is well as long as it gets on. */
  readonly longestQuietMs: number;
  /** The API server has answered nothing for so long. */
  readonly unreachableAfterMs: number;
}

const defaultHealthLimits: HealthLimits = {
  stuckAfterMs: 15 * 60_000,
  longestQuietMs: 60 * 60_000,
  unreachableAfterMs: 60_000,
};

/**
 * What the probes of a pod are told. Alive means that a restart would not help: an API server that is
 * away, a broken cluster, or not being the leader are no reasons for one. Ready means that it knows
 * the objects it would work on. Answers are lists of what is wrong, without anything from outside.
 */
export class Health {
  private readonly waitedFor = new Set<string>();
  private failingSinceMs: number | undefined;
  private workState: (() => WorkState | undefined) | undefined;

  constructor(
    private readonly clock: Pick<Clock, "now">,
    private readonly limits: HealthLimits = defaultHealthLimits,
  ) {}

  /** Not ready before `synced` was told the same. */
  waitFor(what: string): void {
    this.waitedFor.add(what);
  }

  synced(what: string): void {
    this.waitedFor.delete(what);
  }

  /** The API server answered, be it with an error. */
  reached(): void {
    this.failingSinceMs = undefined;
  }

  /** The API server did not answer. */
  missed(): void {
    this.failingSinceMs ??= this.clock.now();
  }

  /** From now on the queue is watched; while nobody works on it, `state` is to answer undefined. */
  watchQueue(state: () => WorkState | undefined): void {
    this.workState = state;
  }

  /** Why the process had better be started anew; empty when it is well. */
  whyNotAlive(): string[] {
    const state = this.workState?.();
    if (state === undefined) return [];
    const nowMs = this.clock.now();
    const { stuckAfterMs, longestQuietMs } = this.limits;
    const waitsMs = nowMs - Math.max(state.oldestReadyAtMs ?? nowMs, state.lastMoveAtMs);
    const { waiting, lastMoveAtMs } = state.engines;
    const enginesMs = waiting === 0 ? 0 : nowMs - lastMoveAtMs;
    const quietMs = nowMs - (state.quietestWorkAtMs ?? nowMs);
    return [
      ...(waitsMs > stuckAfterMs
        ? [
            `the queue has not moved for ${seconds(waitsMs)} although ${counted(state.ready, "cluster waits", "clusters wait")}`,
          ]
        : []),
      ...(enginesMs > stuckAfterMs
        ? [
            `no engine has begun or ended for ${seconds(enginesMs)} although ${counted(waiting, "run waits", "runs wait")} for one`,
          ]
        : []),
      ...(quietMs > longestQuietMs ? [`one reconcile has not got on for ${seconds(quietMs)}`] : []),
    ];
  }

  /** Why it could not take over now; empty when it could. */
  whyNotReady(): string[] {
    const awayMs = this.clock.now() - (this.failingSinceMs ?? this.clock.now());
    return [
      ...[...this.waitedFor].map((what) => `${what} not in sync`),
      ...(awayMs > this.limits.unreachableAfterMs
        ? [`the API server has not answered for ${seconds(awayMs)}`]
        : []),
      ...this.whyNotAlive(),
    ];
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
