import { assertNever } from "../api/error.js";
import type { DriftStatus } from "../api/status.js";
import type { AnyObject, Desired } from "../api/types.js";
import { driftCounts } from "../drift/classify.js";
import type { FreezeCause } from "../drift/freeze.js";
import {
  type DriftMemory,
  hasDrift,
  type JudgedDrift,
  type JudgedItem,
  judgeDrift,
} from "../drift/judge.js";
import { type Tolerance, tolerating } from "../drift/tolerance.js";
import { timeText } from "../kube/statuses.js";
import type { InfrastructureProvider } from "../provider/port.js";

/** How one look at drift is judged, and what came of it. */
export interface DriftWatch {
  readonly tolerance: Tolerance;
  /** Absent as long as nobody has looked. */
  judged(): JudgedDrift | undefined;
}

/** The whole policy of the objects: budgets, freezes and what was remembered of earlier looks. */
export function watchDrift(
  provider: InfrastructureProvider,
  desired: Desired,
  { memory, nowMs }: { readonly memory: DriftMemory; readonly nowMs: number },
): DriftWatch {
  const objects = objectsOf(desired);
  let last: JudgedDrift | undefined;
  return {
    tolerance: tolerating(provider, (report) => {
      last = judgeDrift(report, { objects, memory, nowMs });
      return last;
    }),
    judged: () => last,
  };
}

function objectsOf(desired: Desired): AnyObject[] {
  const { cluster, machines, machineSets, machineDeployments } = desired;
  return [cluster, ...machines, ...machineSets, ...machineDeployments];
}

const shownItems = 12;

/** What a Cluster's status tells of drift; undefined when there is none. Pure. */
export function driftStatusOf(judged: JudgedDrift | undefined): DriftStatus | undefined {
  if (judged === undefined || !hasDrift(judged)) return undefined;
  const shown = judged.items.filter(({ decision }) => decision.kind !== "ignore");
  const since = Math.min(...shown.map(({ sinceMs }) => sinceMs));
  const { freeze } = judged;
  return {
    ...driftCounts({ ...judged.report, items: shown.map(({ item }) => item) }),
    since: timeText(since),
    items: shown.slice(0, shownItems).map(itemText),
    ...(freeze !== undefined && { frozen: freezeText(freeze.cause, judged.report.fingerprint) }),
  };
}

function itemText({ item, decision }: JudgedItem): string {
  return `${item.key} ${item.class}: ${decisionText(decision)}`;
}

function decisionText(decision: JudgedItem["decision"]): string {
  switch (decision.kind) {
    case "correct":
      return `to be corrected (${decision.how})`;
    case "replace":
      return "to be replaced";
    case "report":
      return "reported";
    case "ignore":
      return "ignored";
    case "frozen":
      return "left alone, the cluster is frozen";
    case "overBudget":
      return `waits, ${decision.allowed} at a time`;
    default:
      return assertNever(decision);
  }
}

function freezeText(cause: FreezeCause, fingerprint: string): string {
  const believe = `; if it is true, annotate the Cluster with capstan.dev/drift-thaw: ${fingerprint}`;
  switch (cause.kind) {
    case "unreadable":
      return `the cloud cannot be read: ${cause.reason}`;
    case "allGone":
      return `all ${cause.resources} resources are gone at once${believe}`;
    case "noneListed":
      return `the cloud lists none of ${cause.resources} resources${believe}`;
    case "tooManyUnhealthy":
      return `${cause.unhealthy} of ${cause.machines} machines are gone or failed, more than ${cause.allowed}${believe}`;
    default:
      return assertNever(cause);
  }
}
