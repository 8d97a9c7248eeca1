import { omitUndefined } from "../api/omit-undefined.js";
import type { RunEvent } from "../engine/run/run-event.js";
import { nodeKey, type NodeKey } from "../graph/graph.js";
import { minReadyMsOf } from "../plan/goal/set-deadlines.js";
import type { Observation } from "../plan/observation.js";
import type { Plan } from "../plan/plan.js";
import { type Estimate, estimateLeft, type HostUnderway, type WaveToCome } from "./estimate.js";

/** How a run goes, as far as one can tell from it how long it will still take. */
export class RunCourse {
  private readonly hosts: ReadonlySet<NodeKey>;
  private readonly created: ReadonlySet<NodeKey>;
  private readonly minReadyMs: ReadonlyMap<NodeKey, number>;
  private readonly underway = new Map<NodeKey, HostUnderway>();
  private wave = 0;
  private changingSinceMs: number | undefined;
  private isCommitted = false;
  private longestChangesMs: number | undefined;
  /** Of hosts that this run has made; a wave waits for its slowest. */
  private longestBootMs: number | undefined;
  /** Of hosts that were there before, by what the cloud says of them. */
  private bootBeforeMs: number | undefined;

  /** `timeoutMs`: no host takes longer to boot; one that seems to has been restarted since. */
  constructor(
    private readonly plan: Plan,
    private readonly timeoutMs: number,
  ) {
    const { target, leaving, steps } = plan;
    this.hosts = new Set([...target.machines, ...leaving].map(({ host }) => host));
    const creations = steps.filter(({ kind, key }) => kind === "create" && this.hosts.has(key));
    this.created = new Set(creations.map(({ key }) => key));
    this.minReadyMs = minReadyMsOf(target);
  }

  /** The same cloud, on the way to another plan. */
  toward(plan: Plan): RunCourse {
    const next = new RunCourse(plan, this.timeoutMs);
    next.bootBeforeMs = this.longestBootMs ?? this.bootBeforeMs;
    next.longestChangesMs = this.longestChangesMs;
    return next;
  }

  observed({ observedResources }: Observation): void {
    if (this.bootBeforeMs !== undefined) return;
    const boots = [...observedResources].flatMap(([key, one]) => {
      if (one === "gone" || !this.hosts.has(key)) return [];
      const { createdAtMs, readySinceMs } = one;
      if (createdAtMs === undefined || readySinceMs === undefined) return [];
      const ms = readySinceMs - createdAtMs;
      return ms >= 0 && ms <= this.timeoutMs ? [ms] : [];
    });
    this.bootBeforeMs = medianOf(boots);
  }

  on(event: RunEvent, nowMs: number): void {
    switch (event.kind) {
      case "pass":
        return this.begin(event, nowMs);
      case "proving": {
        const host = this.underway.get(event.key);
        if (host === undefined) return;
        this.measureBoot(host, nowMs);
        this.underway.set(event.key, { ...host, readySinceMs: event.readySinceMs });
        return;
      }
      case "ready": {
        const host = this.underway.get(event.key);
        if (host !== undefined) this.measureBoot(host, nowMs);
        this.underway.delete(event.key);
        return;
      }
      case "committed":
        this.endWave(nowMs);
        this.isCommitted = true;
        return;
      case "resource": {
        const { kind, name, operation, state } = event.event;
        const key = nodeKey(kind, name);
        if (operation === "create" && state === "started" && this.created.has(key)) {
          this.underway.set(key, this.hostSince(key, nowMs));
        }
        return;
      }
      case "leftover":
      case "configured":
      case "unconfigured":
      case "waiting":
      case "recovering":
      case "refreshing":
      case "plannedAnew":
      case "rollingBack":
        return;
    }
  }

  estimate(nowMs: number): Estimate {
    const { bootBeforeMs, longestBootMs = bootBeforeMs, longestChangesMs } = this;
    const { changingSinceMs, plan, wave, isCommitted } = this;
    const toCome = isCommitted ? [] : plan.waves.slice(wave);
    return estimateLeft(
      omitUndefined({
        underway: [...this.underway.values()],
        changingSinceMs,
        toCome: toCome.map(({ keys }) => this.workOf(keys)),
        bootMs: longestBootMs,
        changesMs: longestChangesMs,
      }),
      nowMs,
    );
  }

  private begin({ number, keys }: Extract<RunEvent, { kind: "pass" }>, nowMs: number): void {
    this.endWave(nowMs);
    this.wave = number;
    const made = keys.filter((key) => this.created.has(key));
    for (const key of made) this.underway.set(key, this.hostSince(key, nowMs));
    if (made.length === 0) this.changingSinceMs = nowMs;
  }

  private endWave(nowMs: number): void {
    this.underway.clear();
    if (this.changingSinceMs === undefined) return;
    this.longestChangesMs = Math.max(this.longestChangesMs ?? 0, nowMs - this.changingSinceMs);
    this.changingSinceMs = undefined;
  }

  private measureBoot({ sinceMs, readySinceMs }: HostUnderway, nowMs: number): void {
    if (readySinceMs !== undefined) return;
    this.longestBootMs = Math.max(this.longestBootMs ?? 0, nowMs - sinceMs);
  }

  private hostSince(key: NodeKey, sinceMs: number): HostUnderway {
    return { sinceMs, minReadyMs: this.minReadyMs.get(key) ?? 0 };
  }

  private workOf(keys: readonly NodeKey[]): WaveToCome {
    const made = keys.filter((key) => this.created.has(key));
    if (made.length === 0) return { kind: "changes" };
    return {
      kind: "hosts",
      minReadyMs: Math.max(...made.map((key) => this.minReadyMs.get(key) ?? 0)),
    };
  }
}

function medianOf(values: readonly number[]): number | undefined {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)];
}
