import { boundOf, type DriftPolicy } from "../api/drift-policy.js";
import type { DriftItem, DriftReport } from "./classify.js";
import type { DriftBudgets } from "./budgets.js";

/** Why an answer of the cloud is not believed. */
export type FreezeCause =
  /** It could not be read. */
  | { readonly kind: "unreadable"; readonly reason: string }
  /** Everything is gone at once. */
  | { readonly kind: "allGone"; readonly resources: number }
  /** The listing shows nothing of what is recorded, and yet there is some of it. */
  | { readonly kind: "noneListed"; readonly resources: number }
  | {
      readonly kind: "tooManyUnhealthy";
      readonly unhealthy: number;
      readonly machines: number;
      readonly allowed: number;
    };

/** A cluster whose drift is only reported. */
export interface Freeze {
  readonly cause: FreezeCause;
  /** When this very answer was first seen, milliseconds since the epoch. */
  readonly sinceMs: number;
  /** When it is believed if it stays the same; absent: never by itself. */
  readonly thawsAtMs?: number;
}

/** What was frozen last time, so that it can be told for how long. */
export interface FreezeMemory {
  readonly fingerprint: string;
  readonly sinceMs: number;
}

/** Fewer resources than this may all go at once: people do delete a machine and its network. */
export const fewest = 3;

/** Why the report is implausible; undefined: it can be believed. Pure. */
export function implausible(
  report: DriftReport,
  policyOf: (item: DriftItem) => DriftPolicy,
  { maxUnhealthy }: DriftBudgets,
): FreezeCause | undefined {
  const { unreadable, recorded, listed } = report;
  const items = report.items.filter(({ external }) => external !== true);
  if (unreadable !== undefined) return { kind: "unreadable", reason: unreadable };
  if (recorded >= fewest) {
    const missing = items.filter((item) => item.class === "missing").length;
    if (missing === recorded) return { kind: "allGone", resources: recorded };
    // New resources may not be listed yet: that alone is no reason to worry anybody.
    if (listed === 0 && items.length > 0) return { kind: "noneListed", resources: recorded };
  }
  const machines = report.members + report.workers;
  const allowed = boundOf(maxUnhealthy, machines);
  const unhealthy = unhealthyMachines(items, policyOf).size;
  if (unhealthy <= allowed) return undefined;
  return { kind: "tooManyUnhealthy", unhealthy, machines, allowed };
}

const downClasses: ReadonlySet<DriftItem["class"]> = new Set(["missing", "failed", "stopped"]);

/** Machines whose host is gone, failed or stopped, without those whose drift is nobody's concern. */
function unhealthyMachines(
  items: readonly DriftItem[],
  policyOf: (item: DriftItem) => DriftPolicy,
): ReadonlySet<string> {
  const unhealthy = items.filter(
    (item) => downClasses.has(item.class) && policyOf(item) !== "ignore",
  );
  return new Set(unhealthy.flatMap(({ machine }) => machine?.name ?? []));
}

/** Who says that an implausible answer is true after all. */
export type Thaw = "person" | "time";

/** Whether an implausible answer is believed all the same. An unreadable one says nothing to believe. Pure. */
export function thawedBy(
  cause: FreezeCause,
  fingerprint: string,
  about: {
    readonly budgets: DriftBudgets;
    readonly sinceMs: number;
    readonly nowMs: number;
  },
): Thaw | undefined {
  if (cause.kind === "unreadable") return undefined;
  const { budgets, sinceMs, nowMs } = about;
  if (budgets.thaw === fingerprint) return "person";
  const { freeze } = budgets;
  return freeze.kind === "after" && nowMs - sinceMs >= freeze.ms ? "time" : undefined;
}
