import { stringify } from "yaml";
import { canonicalJson } from "../api/json.js";
import { type WayBack, passedText } from "../plan/undo/point-of-no-return.js";
import type { ChangeSummary } from "../records/transaction.js";
import type { CommandContext } from "./context.js";
import { fit, indented, leastRoom, widthOf, wrap } from "./fit.js";
import type { HistoryItem, HistoryReport, HistoryMachine } from "./history-report.js";
import { goalText } from "../records/goal-text.js";
import { openTransactionText } from "./open-transaction.js";
import { aligned, type Cells, facts, firstThatFits, openTable } from "./table.js";
import type { Colors, Terminal } from "./terminal.js";
import { durationText, momentText } from "./time-text.js";

/** `suggest` names commands as they have to be typed; as they are without. */
type TextOptions = Pick<Terminal, "colors" | "columns"> & Partial<Pick<CommandContext, "suggest">>;

/** Transactions, newest first, with what a rollback can go to. Ends with a line end. */
export function historyText(report: HistoryReport, options: TextOptions, nowMs: number): string {
  const { cluster, stack, revision, items, worker, wayBack = { kind: "free" } } = report;
  if (items.length === 0) return `Cluster ${cluster ?? stack}: nothing is recorded\n`;
  const { suggest = (text: string) => text } = options;
  const head = `Cluster ${cluster ?? stack}   revision ${revision === 0 ? "none yet" : revision}`;
  const notes = items
    .filter(({ result: { kind } }) => kind === "open" || kind === "underWay")
    .map((item) => openTransactionText({ ...item, stack, revision, wayBack, worker }))
    .flatMap((text) => wrap(suggest(text), options.columns))
    .map((line) => options.colors.yellow(line));
  return [
    fit(head, options.columns),
    "",
    ...listLines(report, options, nowMs),
    ...(notes.length > 0 ? ["", ...notes] : []),
    "",
  ].join("\n");
}

/** One transaction in full. `machines` are absent when its target is not kept. */
export function transactionText(
  { stack, cluster = stack, wayBack }: HistoryReport,
  item: HistoryItem,
  machines: readonly HistoryMachine[] | undefined,
  options: Omit<TextOptions, "colors"> & { readonly nowMs: number },
): string {
  const { columns, nowMs, suggest = (text: string) => text } = options;
  const { number, by = "", startedAtMs, endedAtMs, summary } = item;
  const failure = failureOf(item, wayBack);
  const took =
    startedAtMs === undefined || endedAtMs === undefined
      ? ""
      : `, took ${durationText(endedAtMs - startedAtMs)}`;
  return [
    ...facts("", [
      ["Transaction", String(number)],
      ["Cluster", cluster],
      ["Direction", directionText(item)],
      ["By", by],
      ["Begun", startedAtMs === undefined ? "" : momentText(startedAtMs, nowMs)],
      ["Ended", endedAtMs === undefined ? "" : `${momentText(endedAtMs, nowMs)}${took}`],
      ["Result", resultText(item)],
      ["Rollback", suggest(rollbackText(item, stack))],
    ]).map((line) => fit(line, columns)),
    ...(failure === "" ? [] : ["Failure:", ...indented(failure.split("\n"), columns)]),
    ...(summary === undefined
      ? []
      : [`Changes: ${changesText(summary, item)}`, ...indented(summary.lines, columns)]),
    ...(machines === undefined ? [] : machineLines(machines, columns)),
    "",
  ].join("\n");
}

const columnNames = ["number", "when", "result", "rollback", "changes", "by"] as const;
type ColumnName = (typeof columnNames)[number];
type Row = Readonly<Record<ColumnName, string>>;

function listLines(
  { items, wayBack }: HistoryReport,
  options: TextOptions,
  nowMs: number,
): string[] {
  const { colors, columns } = options;
  const failures = items.map((item) => failureOf(item, wayBack).split("\n")[0] ?? "");
  const title = failures.some((failure) => failure !== "") ? "FAILURE" : "";
  const { head, rows } = openTable(
    firstThatFits(listChoices(items, nowMs), columns),
    title,
    columns,
  );
  return [
    colors.bold(head),
    ...items.flatMap((item, index) => {
      const parts = { head: rows[index] ?? "", detail: failures[index] ?? "" };
      return failureLines(parts, columns).map((text) => painted(item, text, colors));
    }),
  ];
}

/** Lines of a failure in a list: the rest is in show. */
const maxFailureLines = 3;

/** What went wrong behind its row, or below it where there is no room. */
function failureLines(
  { head, detail }: { readonly head: string; readonly detail: string },
  columns: number,
): string[] {
  const row = fit(head, columns);
  if (detail === "") return [row];
  const behind = `${head}   ${detail}`;
  if (widthOf(behind) <= columns) return [fit(behind, columns)];
  const room = columns - 4;
  if (room < leastRoom) return [row];
  const lines = wrap(fit(detail, Infinity), room);
  const last = lines.slice(maxFailureLines - 1).join(" ");
  const shown = [...lines.slice(0, maxFailureLines - 1), ...(last === "" ? [] : [last])];
  return [row, ...shown.map((line) => `    ${fit(line, room)}`)];
}

/** From the whole list to the least of it: who goes first, then changes get short, then when goes. */
function listChoices(items: readonly HistoryItem[], nowMs: number): Cells[] {
  const whole = items.map((item) => rowOf(item, nowMs));
  const short = whole.map((row, index) => {
    const summary = items[index]?.summary;
    return { ...row, changes: summary === undefined ? "" : shortChanges(summary) };
  });
  const without = (rows: readonly Row[], ...left: ColumnName[]): Cells => {
    const names = columnNames.filter((name) => !left.includes(name));
    const head = names.map((name) => name.toUpperCase());
    return [head, ...rows.map((row) => names.map((name) => row[name]))];
  };
  return [
    without(whole),
    without(whole, "by"),
    without(short, "by"),
    without(short, "by", "when"),
    without(short, "by", "when", "changes"),
    without(short, "by", "when", "changes", "rollback"),
  ];
}

function rowOf(item: HistoryItem, nowMs: number): Row {
  const { number, by = "", startedAtMs, endedAtMs = startedAtMs, summary } = item;
  return {
    number: String(number),
    when: endedAtMs === undefined ? "" : durationText(nowMs - endedAtMs),
    result: resultText(item),
    rollback: reachText(item),
    changes: summary === undefined ? "" : changesText(summary, item),
    by,
  };
}

function resultText({ result, direction, goal, tookBack }: HistoryItem): string {
  const isOther = ["adopt", "destroy", "rollback", "forget", "import"].includes(goal.kind);
  switch (result.kind) {
    case "committed":
      if (isOther) return `committed, ${goalText(goal)}`;
      return tookBack === undefined ? "committed" : `took ${tookBack} back`;
    case "open":
    case "underWay": {
      const standing = result.kind === "open" ? "open" : "under way";
      if (isOther) return `${standing}, ${goalText(goal)}`;
      if (direction === "forward") return `${standing}, forward`;
      return tookBack === undefined ? `${standing}, back` : `${standing}, takes ${tookBack} back`;
    }
    case "rolledBack":
      if (result.by === undefined) return "rolled back";
      return result.done ? `rolled back by ${result.by}` : `rollback ${result.by} unfinished`;
    case "superseded":
      return result.by === undefined ? "superseded" : `superseded by ${result.by}`;
  }
}

function directionText({ direction, goal, tookBack }: HistoryItem): string {
  if (direction === "forward") return goal.kind === "up" ? "forward" : `forward: ${goalText(goal)}`;
  return tookBack === undefined ? "back" : `back: takes back what transaction ${tookBack} did`;
}

/** What to add to `capstan rollback` to go there, or why there is nothing to add. */
function reachText({ reach, number }: HistoryItem): string {
  switch (reach) {
    case "present":
      return "present";
    case "kept":
      return `--to ${number}`;
    case "barred":
      return "older versions";
    case "dropped":
      return "too old";
    case "never":
      return "";
  }
}

function rollbackText({ reach, number }: HistoryItem, stack: string): string {
  switch (reach) {
    case "present":
      return "this is the present revision";
    case "kept":
      return `capstan rollback ${stack} --to ${number}`;
    case "barred":
      return "no: a control plane does not go back to an older minor version";
    case "dropped":
      return "no longer: history has no room for its target any more";
    case "never":
      return "no: it was not committed";
  }
}

/** What an open transaction failed with is not recorded, but what it leaves to do is. */
function failureOf({ result }: HistoryItem, wayBack: WayBack | undefined): string {
  if (result.kind === "open" || result.kind === "underWay") {
    return wayBack?.kind === "closed"
      ? `only forward: ${wayBack.crossed.map(passedText).join(", ")}`
      : "";
  }
  return result.kind === "rolledBack" || result.kind === "superseded" ? result.failure : "";
}

/** "2 created, 1 deleted", or "2 to create, 1 to delete" of what did not get to its end. */
function changesText(summary: ChangeSummary, { result }: HistoryItem): string {
  const committed = result.kind === "committed";
  // What changes no resource may change something else, such as the owner.
  const nothing = summary.lines[0] ?? "none";
  return listed(
    [
      [summary.adopt ?? 0, committed ? " adopted" : " to adopt"],
      [summary.import ?? 0, committed ? " imported" : " to import"],
      [summary.move ?? 0, committed ? " moved" : " to move"],
      [summary.create, committed ? " created" : " to create"],
      [summary.update, committed ? " updated" : " to update"],
      [summary.delete, committed ? " deleted" : " to delete"],
      [summary.forget ?? 0, committed ? " forgotten" : " to forget"],
    ],
    nothing,
  );
}

/** "+2 ~1 -1", in the signs of a plan. */
function shortChanges(summary: ChangeSummary): string {
  const signs = [
    ["=", (summary.adopt ?? 0) + (summary.import ?? 0)],
    [">", summary.move ?? 0],
    ["+", summary.create],
    ["~", summary.update],
    ["-", summary.delete + (summary.forget ?? 0)],
  ] as const;
  const some = signs.filter(([, count]) => count > 0).map(([sign, count]) => `${sign}${count}`);
  return some.join(" ") || (summary.lines[0]?.split(" ")[0] ?? "none");
}

function listed(counts: readonly (readonly [number, string])[], nothing = "none"): string {
  const some = counts.filter(([count]) => count > 0).map(([count, what]) => `${count}${what}`);
  return some.join(", ") || nothing;
}

function machineLines(machines: readonly HistoryMachine[], columns: number): string[] {
  if (machines.length === 0) return ["Machines: none"];
  const rows = machines.map(({ name, controlPlane, versions, host }) => {
    const { kubelet, containerRuntime: runtime } = versions;
    const role = controlPlane ? "control plane" : "worker";
    const runtimeText = runtime === undefined ? "" : `${runtime.name} ${runtime.version}`;
    return [name, role, kubelet, versions.controlPlane ?? "", runtimeText, host];
  });
  const head = ["NAME", "ROLE", "KUBELET", "CONTROL PLANE", "RUNTIME", "HOST"];
  const cells = withoutEmptyColumns([head, ...rows]);
  const room = columns - 2;
  return [
    "Machines:",
    ...aligned(firstThatFits(shorterAndShorter(cells), room)).map((line) => `  ${fit(line, room)}`),
    "Provider specs:",
    ...specLines(machines, columns),
  ];
}

function withoutEmptyColumns(cells: Cells): Cells {
  const [head = [], ...rows] = cells;
  const isUsed = head.map((_, column) => rows.some((row) => row[column] !== ""));
  return cells.map((row) => row.filter((_, column) => isUsed[column]));
}

/** The whole table, then without its last column, until the first one is left. */
function shorterAndShorter(cells: Cells): Cells[] {
  const [head = []] = cells;
  return head.map((_, left) => cells.map((row) => row.slice(0, row.length - left)));
}

/** Each spec once, under the machines that have it. */
function specLines(machines: readonly HistoryMachine[], columns: number): string[] {
  const groups = new Map<string, HistoryMachine[]>();
  for (const machine of machines) {
    const key = canonicalJson(machine.providerSpec);
    groups.set(key, [...(groups.get(key) ?? []), machine]);
  }
  return [...groups.values()].flatMap((group) => [
    ...indented([`${group.map(({ name }) => name).join(", ")}:`], columns),
    ...stringify(group[0]?.providerSpec ?? {})
      .trimEnd()
      .split("\n")
      .map((line) => `    ${line}`),
  ]);
}

function painted({ result, reach }: HistoryItem, text: string, colors: Colors): string {
  if (reach === "present") return colors.green(text);
  switch (result.kind) {
    case "committed":
      return reach === "dropped" ? colors.dim(text) : text;
    case "rolledBack":
      return colors.red(text);
    case "open":
    case "underWay":
    case "superseded":
      return colors.yellow(text);
  }
}
