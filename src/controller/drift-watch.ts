import type { DriftStatus } from "../api/status.js";
import { type Desired, objectsOf } from "../api/types.js";
import { driftCounts } from "../drift/classify.js";
import {
  type DriftMemory,
  hasDrift,
  type JudgedDrift,
  type JudgedItem,
  judgeDrift,
} from "../drift/judge.js";
import { type DriftFilterFactory, filteringBy } from "../drift/drift-filter-factory.js";
import { decisionText, fieldsText, freezeText, subjectText, thawText } from "../drift/words.js";
import { timeText } from "../kube/statuses.js";
import type { InfrastructureProvider } from "../provider/port.js";

/** How one look at drift is judged, and what came of it. */
export interface DriftWatch {
  readonly filterFactory: DriftFilterFactory;
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
    filterFactory: filteringBy(provider, (report) => {
      last = judgeDrift(report, { objects, memory, nowMs });
      return last;
    }),
    judged: () => last,
  };
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
    ...(freeze !== undefined && {
      frozen: [freezeText(freeze.cause), ...thawText(judged, timeText)].join("; "),
    }),
  };
}

function itemText(judged: JudgedItem): string {
  const { item } = judged;
  const fields = fieldsText(item);
  const what = `${subjectText(item)} ${item.class}${fields === "" ? "" : `: ${fields}`}`;
  return `${what}; ${decisionText(judged)}`;
}
