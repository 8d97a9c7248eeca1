import pc from "picocolors";
import type { Plan } from "../plan/plan.js";
import { planSummary, planTree, type TreeLine, verbOf } from "../plan/tree.js";
import { fit, padded, widthOf } from "./fit.js";

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
  write(text: string): void;
  error(text: string): void;
}

export function processTerminal(env: NodeJS.ProcessEnv): Terminal {
  const { stdout, stderr } = process;
  // NO_COLOR counts when it is not empty. Source: no-color.org.
  const wanted = (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
  return {
    colors: pc.createColors(wanted && stdout.isTTY === true),
    errorColors: pc.createColors(wanted && stderr.isTTY === true),
    live: stdout.isTTY === true && env["TERM"] !== "dumb" && env["CI"] === undefined,
    columns: stdout.isTTY === true ? stdout.columns || 80 : Infinity,
    rows: stdout.rows || 24,
    write: (text) => void stdout.write(text),
    error: (text) => void stderr.write(text),
  };
}

/** The plan as people read it: header, tree, summary, and what else they should know. */
export function planText(
  plan: Plan,
  { colors, columns }: Pick<Terminal, "colors" | "columns">,
): string {
  const { fromRevision, transaction } = plan;
  const revision = plan.empty
    ? `revision ${fromRevision}`
    : `revision ${fromRevision === 0 ? "none" : fromRevision} -> ${transaction.number}`;
  const notes = [
    ...(plan.resumes
      ? [`Transaction ${transaction.number} is not finished; this goes on with it.`]
      : []),
    ...plan.strangers.map((what) => `In the cloud but in no record: ${what}`),
  ];
  return [
    `Cluster ${plan.cluster}   provider ${plan.provider}   ${revision}`,
    "",
    ...treeLines(planTree(plan)).map(({ text, line }) =>
      painted(fit(`  ${text}`, columns), line, colors),
    ),
    "",
    ...notes.map((note) => colors.yellow(note)),
    planSummary(plan),
    "",
  ].join("\n");
}

/** Tree lines with their columns aligned, without colours. */
export function treeLines(tree: readonly TreeLine[]): { text: string; line: TreeLine }[] {
  const width = tree.reduce(
    (most, { branch, label }) => Math.max(most, widthOf(branch + label)),
    0,
  );
  return tree.map((line) => {
    const head = `${line.branch}${line.label}`;
    const verb = verbOf(line.kind);
    if (line.kind === "group") return { line, text: `${head}   ${line.detail}`.trimEnd() };
    return {
      line,
      text: `${padded(head, width)}   ${verb.padEnd(10)}   ${line.detail}`.trimEnd(),
    };
  });
}

export function painted(text: string, { kind }: Pick<TreeLine, "kind">, colors: Colors): string {
  switch (kind) {
    case "create":
      return colors.green(text);
    case "update":
      return colors.yellow(text);
    case "replace":
      return colors.magenta(text);
    case "delete":
      return colors.red(text);
    case "same":
      return colors.dim(text);
    case "group":
      return text;
  }
}
