import { type CapstanError, isCapstanError } from "../../api/error.js";
import type { NodeKey } from "../../graph/graph.js";
import { type Observation, presentAmong } from "../../plan/observation.js";
import type { RemainingPlan } from "../../plan/plan.js";
import { drainingAmong } from "../../plan/step.js";
import { type Backoff, backoffMs } from "../../provider/backoff.js";
import type { Observed } from "../../provider/port.js";
import { clusterOf, hasNodes } from "./own-cluster.js";
import { nodeHostOf } from "./node-host.js";
import type { Waits } from "./waits.js";

/** How often a cluster is asked that does not answer before a commit. */
const askBackoff: Backoff = { firstMs: 500, factor: 2, maxMs: 10_000 };
/** How long it may hold the commit up. */
const commitPatienceMs = 60_000;
/** A cluster that does not answer, or refuses, holds up every look, so it is not asked at each. */
const failureMs = 30_000;

/**
 * The hosts that stay and whose Nodes a drain of ours may have stopped from taking pods: each takes them again once it runs and nothing is
 * left to be done to it that disturbs it, at the latest before the commit. Source: docs/adr/0049.
 */
export class Cordons {
  /** Undefined until the first look of a run that follows another one: any of the hosts that there are by then. */
  private hosts: Set<NodeKey> | undefined;
  private failsUntilMs = 0;

  /** `follow`: another run was under way before this one. */
  constructor({ follow }: { readonly follow: boolean }) {
    if (!follow) this.hosts = new Set();
  }

  /** Those are drained now. */
  add(hosts: readonly NodeKey[]): void {
    for (const host of hosts) this.hosts?.add(host);
  }

  /** At a look. What fails is tried again at a later one. `plan`: what is left, made only where a Node may be cordoned. */
  async lift(plan: () => RemainingPlan, observation: Observation, waits: Waits): Promise<void> {
    const present = this.present(observation, waits);
    if (present.length === 0 || waits.clock.now() < this.failsUntilMs) return;
    const disturbed = drainingAmong(plan().steps);
    const due = present.filter(([key, { phase }]) => phase === "ready" && !disturbed.has(key));
    const failure = await this.uncordon(due, observation, waits);
    if (failure !== undefined) this.failsUntilMs = waits.clock.now() + failureMs;
  }

  /**
   * Before a commit, after which nobody would come back to it: also of hosts that do not run, as long as the cluster may take to answer.
   * What it refuses, or does not answer for too long, is told.
   */
  async liftAll(waits: Waits): Promise<void> {
    if (!hasNodes(waits) || this.hosts?.size === 0) return;
    const { clock, stop, timeoutMs, report } = waits;
    const observation = await waits.observe();
    const untilMs = clock.now() + Math.min(timeoutMs, commitPatienceMs);
    for (let asked = 1; ; asked += 1) {
      const failure = await this.uncordon(this.present(observation, waits), observation, waits);
      if (failure === undefined) return;
      const isOver = !failure.retryable || clock.now() >= untilMs;
      const way = isOver
        ? "; capstan up lets those take pods that do not, and so does kubectl uncordon"
        : "";
      const reason = `hosts that stay have to take pods again: ${failure.message}${way}`;
      if (asked === 1 || isOver) report({ kind: "waiting", keys: [], reason });
      if (isOver) return;
      await clock.sleep(backoffMs(askBackoff, asked), stop);
    }
  }

  private present(observation: Observation, waits: Waits): [NodeKey, Observed][] {
    if (!hasNodes(waits)) return [];
    const wanted = waits.goal.target.machines.map(({ host }) => host);
    const present = [...presentAmong(wanted, observation)];
    const hosts = (this.hosts ??= new Set(present.map(([key]) => key)));
    return present.filter(([key]) => hosts.has(key));
  }

  /** What some of them failed with: who takes pods again already is left as it is at the next try. */
  private async uncordon(
    due: readonly (readonly [NodeKey, Observed])[],
    observation: Observation,
    waits: Waits,
  ): Promise<CapstanError | undefined> {
    if (due.length === 0) return undefined;
    const hosts = due.map(([, host]) => host);
    try {
      const cluster = await clusterOf(hosts, observation, waits);
      await cluster?.uncordon(hosts.map(nodeHostOf));
    } catch (error) {
      if (!isCapstanError(error)) throw error;
      return error;
    }
    for (const [key] of due) this.hosts?.delete(key);
    return undefined;
  }
}
