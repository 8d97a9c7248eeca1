import pc from "picocolors";
import { createdInputs } from "../report/created-inputs.js";
import type { LeavingText } from "../api/leaving-text.js";
import type { SecretValues } from "../provider/secret-values.js";
import { visible, visiblePainted } from "../api/visible.js";
import { planNotes, revisionText, stageLines } from "../plan/changes/notes.js";
import type { Plan } from "../plan/plan.js";
import { kindLines } from "../plan/changes/kinds.js";
import { planSummary, planTree, type TreeLine, verbOf } from "../plan/changes/tree.js";
import { undoText } from "../plan/undo/undo-text.js";
import { fit, rowLines } from "./fit.js";
import { inColumns, widthsOf } from "./table.js";
import { waveLines } from "./wave-text.js";

export type Colors = ReturnType<typeof pc.createColors>;

/** Where a command writes, and what that place can show. */
export interface Terminal {
  readonly colors: Colors;
  /** Of what goes to `error`: the one can be a terminal and the other not. */
  readonly errorColors: Colors;
  /** A terminal that can be redrawn. */
  readonly live: boolean;
  /** Width in columns, where trees and tables are cut; Infinity for a file or a pipe. */
  readonly columns: number;
  /** Height in lines: what is taller cannot be redrawn in place. */
  readonly rows: number;
  /**
   * Text for people. Nothing in it but our colours can steer the terminal, or a CI system that reads along, and no secret is in it:
   * everything but a document is scrubbed here.
   */
  write(text: string): void;
  error(text: string): void;
  /** What moves on a live terminal; its lines fit (`fit`). */
  draw(text: string): void;
  /** What other programs read, word for word; on a terminal it is text for people. */
  document(text: LeavingText): void;
}

/** Node.js leaves `isTTY` out where there is no terminal, whatever its types say. */
export function isTerminal({ isTTY = false }: { readonly isTTY?: boolean }): boolean {
  return isTTY;
}

export function processTerminal(
  env: NodeJS.ProcessEnv,
  { scrub }: Pick<SecretValues, "scrub">,
): Terminal {
  const { stdout, stderr } = process;
  // NO_COLOR counts when it is not empty. Source: no-color.org.
  const wanted = (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
  return {
    colors: pc.createColors(wanted && isTerminal(stdout)),
    errorColors: pc.createColors(wanted && isTerminal(stderr)),
    live: isTerminal(stdout) && env["TERM"] !== "dumb" && env["CI"] === undefined,
    columns: isTerminal(stdout) ? stdout.columns || 80 : Infinity,
    rows: stdout.rows || 24,
    write: (text) => leave(stdout, scrub(text), visiblePainted),
    error: (text) => leave(stderr, scrub(text), visiblePainted),
    draw: (text) => leave(stdout, scrub(text)),
    document: (text) => leave(stdout, text, isTerminal(stdout) ? visible : undefined),
  };
}

/** The one way out: nothing but what was scrubbed, or is meant to leave as it is. */
function leave(
  stream: NodeJS.WriteStream,
  text: LeavingText,
  form: (text: string) => string = (same) => same,
): void {
  stream.write(form(text));
}

/** The plan as people read it: header, tree, summary, and what else they should know. */
export function planText(
  plan: Plan,
  { colors, columns }: Pick<Terminal, "colors" | "columns">,
  details = false,
): string {
  const undo = [undoText(plan)].filter((line) => line !== "");
  return [
    `Cluster ${plan.cluster}   provider ${plan.provider}   ${revisionText(plan)}`,
    "",
    ...treeLines(planTree(plan), { colors, columns }),
    "",
    ...(details ? detailLines(plan) : []),
    ...planNotes(plan).map((note) => colors.yellow(note)),
    planSummary(plan),
    ...courseLines(plan, { colors, columns }),
    ...stageLines(plan),
    ...undo.map((line) => (plan.pointsOfNoReturn.length > 0 ? colors.yellow(line) : line)),
    "",
  ].join("\n");
}

/** A plan's tree, indented and in its colours. Pure. */
export function treeLines(
  tree: readonly TreeLine[],
  { colors, columns }: Pick<Terminal, "colors" | "columns">,
): string[] {
  return treeRows(tree).flatMap((row) =>
    rowLines({ ...row, branch: `  ${row.branch}`, head: `  ${row.head}` }, columns).map((text) =>
      painted(text, row.line, colors),
    ),
  );
}

/** Below the summary of a plan: its changes by kind where there are many, and its waves. Pure. */
export function courseLines(
  plan: Plan,
  { colors, columns }: Pick<Terminal, "colors" | "columns">,
): string[] {
  return [...kindLines(plan), ...waveLines(plan)].map((line) =>
    colors.dim(fit(`  ${line}`, columns)),
  );
}

/** All inputs of what is made: a reviewer sees what it costs. */
function detailLines(plan: Plan): string[] {
  const made = createdInputs(plan);
  if (made.length === 0) return [];
  const lines = made.flatMap(({ label, inputs }) => [
    `  ${label}`,
    ...inputs.map(({ path, value }) => `    ${path}: ${value}`),
  ]);
  return ["Inputs of what is new:", ...lines, ""];
}

/** A line of the plan's tree, laid out, without colours. */
interface TreeRow {
  readonly line: TreeLine;
  readonly branch: string;
  /** Label and what happens, in their columns. */
  readonly head: string;
  readonly detail: string;
}

const verbWidth = 10;
/** "+ creating 10.0s": what is shown in a verb's place must not move what stands behind it. */
const progressWidth = 16;

/**
 * Tree lines with their columns aligned. `progressOf` puts how far it is in the place of the verb,
 * and what went wrong in the place of the detail.
 */
export function treeRows(
  tree: readonly TreeLine[],
  progressOf?: (line: TreeLine) => { readonly verb: string; readonly detail?: string } | undefined,
): TreeRow[] {
  const labels = tree.map(({ branch, label }) => [branch + label]);
  const widths = [...widthsOf(labels), progressOf === undefined ? verbWidth : progressWidth];
  return tree.map((line) => {
    const { branch, label, kind } = line;
    if (kind === "group") return { line, branch, head: branch + label, detail: line.detail };
    const progress = progressOf?.(line);
    const head = inColumns([branch + label, progress?.verb ?? verbOf(kind)], widths);
    return { line, branch, head, detail: progress?.detail ?? line.detail };
  });
}

export function painted(text: string, { kind }: Pick<TreeLine, "kind">, colors: Colors): string {
  switch (kind) {
    case "create":
      return colors.green(text);
    case "adopt":
    case "import":
    case "move":
      return colors.cyan(text);
    case "update":
      return colors.yellow(text);
    case "replace":
      return colors.magenta(text);
    case "delete":
    case "forget":
      return colors.red(text);
    case "same":
    case "external":
      return colors.dim(text);
    case "group":
      return text;
  }
}
