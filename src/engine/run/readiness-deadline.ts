import type { CapstanError } from "../../api/error.js";
import type { NodeKey } from "../../graph/graph.js";
import { progressDeadlinesOf } from "../../plan/goal/set-deadlines.js";
import { progressOf } from "../../sets/progress.js";
import type { Target } from "../../records/target.js";
import { hostsLate, replacedOnceFound } from "./failures.js";

interface Limits {
  /** How long any host may take, milliseconds. */
  readonly timeoutMs: number;
  readonly sinceMs: number;
  /** The transaction's, milliseconds since the epoch. */
  readonly deadlineAtMs: number;
}

/**
 * How long hosts are waited for: each for the command's time-out, all until the transaction's deadline,
 * and those of a MachineDeployment for its progressDeadlineSeconds since one of its hosts last came up.
 * Cluster API documents that deadline and never kept it. Source: docs/cluster-api.md#machinedeployment.
 */
export class ReadinessDeadline {
  private readonly deadlines: ReadonlyMap<NodeKey, { deployment: string; seconds: number }>;
  private readonly progressAtMs = new Map<string, number>();

  private readonly hosts: ReadonlySet<NodeKey>;

  constructor(
    target: Target,
    private readonly limits: Limits,
  ) {
    this.deadlines = progressDeadlinesOf(target);
    this.hosts = new Set(target.machines.map(({ host }) => host));
  }

  progressed(key: NodeKey, nowMs: number): void {
    const deadline = this.deadlines.get(key);
    if (deadline !== undefined) this.progressAtMs.set(deadline.deployment, nowMs);
  }

  /** Throws DEADLINE when it has run out for any of these. `why`: what keeps those of them from counting that run already. */
  check(
    missing: readonly NodeKey[],
    nowMs: number,
    why: ReadonlyMap<NodeKey, string> = new Map(),
  ): void {
    const { timeoutMs, sinceMs, deadlineAtMs } = this.limits;
    const textOf = (key: NodeKey) => {
      const reason = why.get(key);
      return reason === undefined ? key : `${key} (${reason})`;
    };
    const late = {
      missing,
      stuck: missing.filter((key) => this.hosts.has(key) && !why.has(key)),
      hosts: missing.map(textOf).join(", "),
      wayOut: missing.some((key) => why.has(key))
        ? `; one that never will be ready ${replacedOnceFound}`
        : "",
    };
    for (const key of missing) {
      const deadline = this.deadlines.get(key);
      if (deadline === undefined) continue;
      const { deployment, seconds } = deadline;
      const progressAtMs = this.progressAtMs.get(deployment) ?? sinceMs;
      const progress = progressOf({
        complete: false,
        paused: false,
        nowMs,
        lastProgressAtMs: progressAtMs,
        progressDeadlineSeconds: seconds,
      });
      if (progress.kind !== "deadlineExceeded") continue;
      throw deadlineError(late, {
        why: `MachineDeployment ${deployment} has made no progress for ${seconds} s`,
        hint: "capstan status shows what they do; spec.progressDeadlineSeconds gives them longer",
      });
    }
    if (nowMs > deadlineAtMs) {
      throw deadlineError(late, {
        why: "not ready by the transaction's deadline",
        hint: "capstan status shows what they do; --deadline gives the whole change longer",
      });
    }
    if (nowMs <= sinceMs + timeoutMs) return;
    throw deadlineError(late, {
      why: `not ready after ${timeoutMs / 1000} s`,
      hint: "capstan status shows what they do; --timeout gives them longer",
    });
  }
}

/** Hosts that are waited for in vain; `hosts`: all of them in words. */
interface Late {
  readonly missing: readonly NodeKey[];
  /** Hosts among them that do not run. */
  readonly stuck: readonly NodeKey[];
  readonly hosts: string;
  /** What to do about those that run, "" where none does: the ones that do not are given up without anybody's help. */
  readonly wayOut: string;
}

function deadlineError(
  { missing, stuck, hosts, wayOut }: Late,
  { why, hint }: { readonly why: string; readonly hint: string },
): CapstanError {
  const message = `${why}: ${hosts}`;
  return hostsLate(missing, why, stuck, {
    code: "DEADLINE",
    source: "cloud",
    message,
    hint: `${hint}${wayOut}`,
    retryable: true,
  });
}
