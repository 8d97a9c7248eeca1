import { counted } from "../api/counted.js";
import type { DriftClass } from "../drift/classify.js";
import type { JudgedItem } from "../drift/judge.js";
import {
  countsOfDrift,
  decisionText,
  findingText,
  outcomesOfDrift,
  subjectText,
} from "../drift/drift-text.js";
import { clusterNotes, driftSigns } from "../report/drift-markdown.js";
import { type DriftedCluster, shownItems } from "../report/drift-report.js";
import { fit, indented, rowLines, wrap } from "./fit.js";
import type { Colors, Terminal } from "./terminal.js";

/** The drift of one cluster as people read it; ends with a line end. */
export function clusterDriftText(
  drifted: DriftedCluster,
  { colors, columns }: Pick<Terminal, "colors" | "columns">,
): string {
  const { cluster, provider, revision, judged } = drifted;
  const { report } = judged;
  const notes = clusterNotes(drifted).flatMap((note) => folded(note, columns));
  const shown = shownItems(drifted);
  const room = Math.max(...shown.map(({ item }) => item.class.length), "missing".length);
  const items = shown.flatMap((one) => itemLines(one, room, { columns, colors }));
  const head = `Cluster ${cluster}   provider ${provider}   revision ${revision}`;
  const sum =
    judged.items.length === 0
      ? `No drift: ${counted(report.recorded, "resource is as it is", "resources are as they are")} recorded.`
      : `Drift ${report.fingerprint}: ${countsOfDrift(judged)}; ${outcomesOfDrift(judged)}`;
  return [
    fit(head, columns),
    "",
    ...items,
    ...(items.length > 0 ? [""] : []),
    ...notes.map((line) => colors.yellow(line)),
    ...folded(sum, columns),
    "",
  ].join("\n");
}

/** A sentence in lines that fit, those after the first further in. */
function folded(text: string, columns: number): string[] {
  return wrap(text, columns - 2).map((line, index) =>
    fit(index === 0 ? line : `  ${line}`, columns),
  );
}

/** What has drifted, how, and what becomes of it; below it where the line would be too long. */
function itemLines(
  one: JudgedItem,
  room: number,
  { columns, colors }: Pick<Terminal, "colors" | "columns">,
): string[] {
  const { item } = one;
  const colour = colourOf(item.class, colors);
  const resource = item.machine === undefined ? "" : ` (${item.kind} ${item.name})`;
  const id = item.id === undefined ? "" : ` ${item.id}`;
  const head = `  ${driftSigns[item.class]} ${item.class.padEnd(room)} ${subjectText(item)}${resource}${id}`;
  const finding = findingText(item);
  const branch = "    ";
  return [
    ...rowLines({ branch, head, detail: finding }, columns).map((line) => colour(line)),
    ...indented([`      ${decisionText(one)}`], columns),
  ];
}

function colourOf(found: DriftClass, colors: Colors): (text: string) => string {
  switch (found) {
    case "missing":
    case "failed":
    case "unhealthy":
    case "leaving":
      return colors.red;
    case "expiring":
    case "stopped":
    case "changed":
      return colors.yellow;
    case "extra":
      return colors.magenta;
    case "unknown":
      return colors.dim;
  }
}
