import { timeText } from "../api/time-text.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { DriftStatus } from "../api/status.js";
import { driftCounts } from "../drift/classify.js";
import { hasDrift, type JudgedDrift, type JudgedItem } from "../drift/judge.js";
import {
  decisionText,
  findingText,
  freezeText,
  subjectText,
  thawText,
} from "../drift/drift-text.js";

const shownItems = 12;

/** What a Cluster's status tells of drift; undefined when there is none. Pure. */
export function driftStatusOf(judged: JudgedDrift | undefined): DriftStatus | undefined {
  if (judged === undefined || !hasDrift(judged)) return undefined;
  const shown = judged.items.filter(({ decision }) => decision.kind !== "ignore");
  const since = Math.min(...shown.map(({ sinceMs }) => sinceMs));
  const { freeze } = judged;
  return omitUndefined({
    ...driftCounts({ ...judged.report, items: shown.map(({ item }) => item) }),
    since: timeText(since),
    items: shown.slice(0, shownItems).map(itemText),
    frozen: freeze && [freezeText(freeze.cause), ...thawText(judged, timeText)].join("; "),
  });
}

function itemText(judged: JudgedItem): string {
  const { item } = judged;
  const finding = findingText(item);
  const what = `${subjectText(item)} ${item.class}${finding === "" ? "" : `: ${finding}`}`;
  return `${what}; ${decisionText(judged)}`;
}
