import { wordFor } from "../api/counted.js";
import {
  countsOfDrift,
  decisionText,
  findingText,
  freezeText,
  outcomesOfDrift,
  subjectText,
  thawText,
} from "../drift/drift-text.js";
import type { DriftClass } from "../drift/classify.js";
import { hasDrift, type JudgedItem } from "../drift/judge.js";
import { withThousands } from "./alike.js";
import { codePart } from "./code-part.js";
import { type DriftedCluster, type DriftRun, shownItems, timeText } from "./drift-report.js";
import { fitParts, type Part } from "./fitting.js";
import { bytesOf, commentRoom, inlineCode, inlineText } from "./markdown-text.js";

/** The first line of every such document: by it the comment of an earlier run is found. */
export const driftMarker = "<!-- capstan-drift -->";

/** Colours a line of a diff: what is gone or failed, what has changed, what is too many. */
export const driftSigns: Record<DriftClass, string> = {
  missing: "-",
  failed: "-",
  stopped: "!",
  unhealthy: "-",
  expiring: "!",
  leaving: "-",
  changed: "!",
  extra: "+",
  unknown: "?",
};

/**
 * Drift as a comment or an issue: a summary of each cluster, then what drifted, with at most `limit`
 * bytes in all. Nothing in it that comes from state or cloud can be markup. Pure.
 */
export function driftMarkdown(run: DriftRun, limit = commentRoom): string {
  const head = [driftMarker, `## ${titleOf(run)}`, ""].join("\n\n");
  const foot = `\n<sub>capstan ${inlineText(run.release)}</sub>\n`;
  const parts = run.clusters.flatMap((drifted) => [notesPart(drifted), ...itemsPart(drifted)]);
  return [head, ...fitParts(parts, limit - bytesOf(head) - bytesOf(foot)), foot].join("");
}

function titleOf({ clusters }: DriftRun): string {
  const drifted = clusters.filter(({ judged }) => hasDrift(judged));
  if (drifted.length === 0) return "Capstan drift: none";
  const items = drifted.flatMap(({ judged }) => judged.items);
  return `Capstan drift: ${countsOfDrift({ items })}`;
}

/** What has to be known of a cluster before its resources. */
function notesPart(drifted: DriftedCluster): Part {
  const lines = clusterNotes(drifted).map((note) => inlineText(note));
  const heading = `### ${inlineCode(drifted.cluster)}: ${summaryOf(drifted)}\n\n`;
  return {
    rank: 0,
    lines,
    render: (count) =>
      count === 0 ? heading : `${heading}> [!WARNING]\n> ${lines.slice(0, count).join("\n> ")}\n\n`,
  };
}

/** Freeze, unfinished work, and what nobody can see, a sentence each. Pure. */
export function clusterNotes({ judged, openTransaction }: DriftedCluster): string[] {
  const { freeze, thawed } = judged;
  return [
    ...(openTransaction === undefined
      ? []
      : [`Transaction ${openTransaction} is open: what it has still to do is no drift.`]),
    ...(freeze === undefined ? [] : [`Frozen: ${freezeText(freeze.cause)}; nothing is corrected.`]),
    ...thawText(judged, timeText).map((text) => `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}`),
    ...(thawed === undefined ? [] : [`Thawed by ${thawed}: all of it is corrected at one go.`]),
    ...(judged.report.notChecked ?? []).map(
      ({ kind, fields }) =>
        `Not checked: ${fields.join(", ")} of ${kind}, which its cloud does not show.`,
    ),
  ];
}

function summaryOf({ judged }: DriftedCluster): string {
  if (judged.items.length === 0) {
    return `no drift in ${withThousands(judged.report.recorded)} ${wordFor(judged.report.recorded, "resource")}`;
  }
  return `${countsOfDrift(judged)}; ${outcomesOfDrift(judged)}`;
}

function itemsPart(drifted: DriftedCluster): Part[] {
  return codePart({
    title: "What drifted",
    unit: "line",
    isOpen: true,
    lines: shownItems(drifted).map((one) => ({ text: lineOf(one), size: 1 })),
  });
}

function lineOf(one: JudgedItem): string {
  const { item } = one;
  const finding = findingText(item);
  const what = `${driftSigns[item.class]} ${item.class} ${subjectText(item)}`;
  return `${what}${finding === "" ? "" : `: ${finding}`} => ${decisionText(one)}`;
}
