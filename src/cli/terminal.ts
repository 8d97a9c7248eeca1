import pc from "picocolors";
import type { Plan } from "../plan/plan.js";
import { planSummary, planTree, type TreeLine, verbOf } from "../plan/tree.js";

type Colors = ReturnType<typeof pc.createColors>;

/** Where a command writes, and what that place can show. */
export interface Terminal {
  readonly colors: Colors;
  /** A terminal that can be redrawn. */
  readonly live: boolean;
  /** Width in columns; lines are cut there when live. */
  readonly columns: number;
  /** Height in lines: what is taller cannot be redrawn in place. */
  readonly rows: number;
  write(text: string): void;
  error(text: string): void;
}

export function processTerminal(env: NodeJS.ProcessEnv): Terminal {
  const { stdout, stderr } = process;
  const colored = stdout.isTTY === true && env["NO_COLOR"] === undefined && env["TERM"] !== "dumb";
  return {
    colors: pc.createColors(colored),
    live: stdout.isTTY === true && env["TERM"] !== "dumb" && env["CI"] === undefined,
    columns: stdout.columns || 120,
    rows: stdout.rows ?? 24,
    write: (text) => void stdout.write(text),
    error: (text) => void stderr.write(text),
  };
}

/** The plan as people read it: header, tree, summary, and what else they should know. */
export function planText(plan: Plan, colors: Colors): string {
  const { fromRevision, transaction } = plan;
  const revision = plan.empty
    ? `revision ${fromRevision}`
    : `revision ${fromRevision === 0 ? "none" : fromRevision} -> ${transaction.number}`;
  const notes = [
    ...(plan.resumes ? [`Transaction ${transaction.number} is not finished; this goes on with it.`] : []),
    ...plan.strangers.map((what) => `In the cloud but in no record: ${what}`),
  ];
  return [
    `Cluster ${plan.cluster}   provider ${plan.provider}   ${revision}`,
    "",
    ...treeLines(planTree(plan)).map(({ text, line }) => `  ${painted(text, line, colors)}`),
    "",
    ...notes.map((note) => colors.yellow(note)),
    planSummary(plan),
    "",
  ].join("\n");
}

/** Tree lines with their columns aligned, without colours. */
export function treeLines(tree: readonly TreeLine[]): { text: string; line: TreeLine }[] {
  const width = Math.max(...tree.map(({ branch, label }) => branch.length + label.length));
  return tree.map((line) => {
    const head = `${line.branch}${line.label}`;
    const verb = verbOf(line.kind);
    if (line.kind === "group") return { line, text: `${head}   ${line.detail}`.trimEnd() };
    return {
      line,
      text: `${head.padEnd(width)}   ${verb.padEnd(10)}   ${line.detail}`.trimEnd(),
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
