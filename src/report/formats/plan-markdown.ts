import { wordFor } from "../../api/counted.js";
import { createdInputs } from "../created-inputs.js";
import type { Plan } from "../../plan/plan.js";
import { planNotes, stageLines } from "../../plan/changes/notes.js";
import { planSummary } from "../../plan/changes/tree.js";
import { undoText } from "../../plan/undo/undo-text.js";
import { withThousands } from "../alike.js";
import { codePart, type CodePart, folded } from "../code-part.js";
import { fitParts, type Part } from "../fitting.js";
import { cutTo } from "../../api/bounded-text.js";
import { bytesOf, commentRoom, inlineCode, inlineText } from "../markdown-text.js";
import { planMermaid } from "./plan-mermaid.js";
import { changedRows, type Row, rowText, undoRows, unchangedRows, waveRows } from "../plan-rows.js";
import {
  countChanges,
  countsText,
  hasChanges,
  hasPointOfNoReturn,
  type PlanReport,
  sumOfCounts,
} from "../report.js";

/** The first line of every such document: by it the comment of an earlier run is found. */
export const planMarker = "<!-- capstan-plan -->";

/** How many clusters get a row and a section of their own: as many of these as there is room for. */
const clusterCounts = [40, 20, 10, 5, 2, 1, 0];
/** A longer label moves what stands behind it. */
const widestLabel = 56;
/** Of what stands in the table. */
const longestCell = 160;
/** A larger drawing is none that anybody reads in a comment. */
const largestDrawing = 12_000;

/**
 * The plan as a comment on a pull request: the summary first, everything else folded. It has at most
 * `limit` bytes whatever the plan: what has no room is counted where it is missing, and the end says how
 * to see it. Nothing in it that comes from manifests, state or cloud can be markup. Pure.
 */
export function planMarkdown(report: PlanReport, limit = commentRoom): string {
  const foot = footOf(report);
  for (const count of clusterCounts) {
    const head = headOf(report, count);
    const parts = report.plans
      .slice(0, count)
      .flatMap((plan) => clusterParts(plan, report.plans.length === 1));
    const room = limit - bytesOf(head) - bytesOf(foot);
    const text = [head, ...fitParts(parts, room), foot].join("");
    if (bytesOf(text) <= limit) return text;
  }
  throw new Error(`no summary fits into ${limit} bytes`);
}

function headOf(report: PlanReport, mostClusters: number): string {
  const { plans, destroyed } = report;
  const rows = plans.slice(0, mostClusters).map(tableRow);
  const more = plans.length - rows.length;
  const table = [
    "| Cluster | Revision | Create | In place | Delete | Waves | Undo |",
    "| --- | --- | --: | --: | --: | --: | --- |",
    ...rows,
  ];
  const names = destroyed.map(({ cluster }) => cluster).join(", ");
  return [
    planMarker,
    `## ${titleOf(report)}`,
    ...(rows.length === 0 ? [] : [table.join("\n")]),
    ...(more > 0
      ? [
          `And ${withThousands(more)} more ${wordFor(more, "cluster has", "clusters have")} no room here.`,
        ]
      : []),
    ...(names === "" ? [] : [`**To be destroyed with all they own:** ${inlineCode(names)}`]),
    "",
  ].join("\n\n");
}

function titleOf(report: PlanReport): string {
  const { plans, destroyed } = report;
  const [only] = plans;
  if (!hasChanges(report)) return "Capstan plan: no changes";
  if (only !== undefined && plans.length + destroyed.length === 1) {
    return `Capstan plan: ${inlineText(planSummary(only).replace(/^Plan: /, ""))}`;
  }
  const counts = sumOfCounts(plans.map(countChanges));
  const gone = destroyed.length === 0 ? "" : `${destroyed.length} to be destroyed`;
  const what = [countsText(counts), gone].filter((part) => part !== "").join("; ");
  const number = plans.length + destroyed.length;
  return `Capstan plan: ${number} clusters, ${what === "" ? "objects to be recorded" : what}`;
}

function tableRow(plan: Plan): string {
  const { fromRevision, transaction, empty } = plan;
  const counts = countChanges(plan);
  const before = fromRevision === 0 ? "none" : String(fromRevision);
  const undo = cutTo(undoText(plan).replace(/^Undo: /, ""), longestCell);
  const cells = [
    inlineCode(plan.cluster),
    empty ? before : `${before} → ${transaction.number}`,
    ...[counts.create, counts.update, counts.delete, plan.waves.length].map(withThousands),
    empty ? "nothing to do" : inlineText(undo),
  ];
  return `| ${cells.join(" | ")} |`;
}

/** The parts of one cluster, in the order in which they are read. */
function clusterParts(plan: Plan, isOnly: boolean): Part[] {
  const count = withThousands(plan.waves.length);
  return [
    notesPart(plan, isOnly ? "" : `### ${inlineCode(plan.cluster)}\n\n`),
    ...rowsPart({ title: "Changes", unit: "line", rows: changedRows(plan), isOpen: isOnly }),
    ...inputsPart(plan),
    ...rowsPart({
      title: `${count} ${wordFor(plan.waves.length, "wave")}`,
      unit: "step",
      rows: waveRows(plan),
    }),
    ...rowsPart({ title: "Not simply taken back", unit: "step", rows: undoRows(plan) }),
    ...drawingPart(plan),
    ...rowsPart({ title: "Unchanged", unit: "line", rows: unchangedRows(plan), rank: 3 }),
  ];
}

/** What has to be known before anything else is never folded. */
function notesPart(plan: Plan, heading: string): Part {
  const undo = hasPointOfNoReturn(plan) ? [undoText(plan)] : [];
  const notes = [...undo, ...planNotes(plan), ...stageLines(plan)];
  const lines = notes.map((note) => `> - ${inlineText(note.trim())}`);
  return {
    rank: 0,
    lines,
    render: (count) => {
      if (lines.length === 0) return heading;
      const left = lines.length - count;
      const missing =
        left === 0
          ? []
          : [
              `> - ${withThousands(left)} more ${wordFor(left, "note has", "notes have")} no room here`,
            ];
      return `${heading}${["> [!WARNING]", ...lines.slice(0, count), ...missing].join("\n")}\n\n`;
    },
  };
}

/** Rows in aligned columns. */
function rowsPart({ rows, ...part }: Omit<CodePart, "lines"> & { rows: readonly Row[] }): Part[] {
  const lengths = rows.map(({ indent, label }) => indent * 2 + label.length);
  const width = Math.min(widestLabel, Math.max(0, ...lengths));
  return codePart({
    ...part,
    lines: rows.map((row) => ({ text: rowText(row, width), size: row.size })),
  });
}

/** What new resources are made with: for whoever asks what they cost. */
function inputsPart(plan: Plan): Part[] {
  const lines = createdInputs(plan).flatMap(({ label, size, inputs }) => [
    { text: label, size },
    ...inputs.map(({ path, value }) => ({ text: `  ${path}: ${value}`, size: 0 })),
  ]);
  return codePart({ title: "Inputs of what is new", unit: "resource", lines, rank: 3 });
}

/** Drawn by the forge, whole or not at all. */
function drawingPart(plan: Plan): Part[] {
  if (plan.empty) return [];
  const lines = planMermaid([plan]).trimEnd().split("\n");
  if (bytesOf(lines.join("\n")) > largestDrawing) return [];
  const missing = ["The graph has no room here.", ""];
  return [
    {
      rank: 2,
      lines,
      isWhole: true,
      render: (count) =>
        folded("Graph", false, count === 0 ? missing : ["```mermaid", ...lines, "```", ""]),
    },
  ];
}

function footOf({ manifests, release }: PlanReport): string {
  const again = `capstan plan ${manifests}`;
  return [
    "",
    `The whole plan as a page: ${inlineCode(`${again} --format html`)}; for programs: ` +
      `${inlineCode("--format json")}.`,
    "",
    `<sub>capstan ${inlineText(release)}</sub>`,
    "",
  ].join("\n");
}
