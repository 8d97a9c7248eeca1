import type { Json } from "../api/json.js";
import { isRef } from "../graph/graph.js";
import {
  isSame,
  type ItemDifference,
  type TargetDifference,
  type ValueDifference,
} from "../plan/compare.js";
import { fit, indented, widthOf } from "./fit.js";
import type { Colors, Terminal } from "./terminal.js";

/** What leads from one revision to another: a line for each value of an object, and each machine. */
export function differenceText(
  { from, to, cluster }: { readonly from: number; readonly to: number; readonly cluster: string },
  difference: TargetDifference,
  { colors, columns }: Pick<Terminal, "colors" | "columns">,
): string {
  if (isSame(difference)) return `Revisions ${from} and ${to} of ${cluster} are the same\n`;
  const { objects, machines, infrastructure } = difference;
  const parts = [
    ["Objects", objects.flatMap((item) => differenceLines(item, "eachValue"))],
    ["Machines", machines.flatMap((item) => differenceLines(item, "together"))],
    ["Infrastructure", infrastructure.flatMap((item) => differenceLines(item, "eachValue"))],
  ] as const;
  return [
    `Cluster ${cluster}   revision ${from} -> ${to}`,
    ...parts
      .filter(([, lines]) => lines.length > 0)
      .flatMap(([title, lines]) => [
        "",
        `${title}:`,
        ...lines.flatMap((line) => laidOut(line, columns).map(colourOf(line.kind, colors))),
      ]),
    "",
  ].join("\n");
}

interface DifferenceLine {
  readonly kind: ItemDifference["kind"];
  readonly head: string;
  readonly detail: string;
}

/** In one line, or else the detail below what it is about. */
function laidOut({ head, detail }: DifferenceLine, columns: number): string[] {
  const whole = `  ${head} ${detail}`;
  if (detail === "" || widthOf(fit(whole, Infinity)) <= columns) return [fit(whole, columns)];
  return [
    fit(`  ${head}`, columns),
    ...indented([detail], columns - 4).map((line) => `    ${line}`),
  ];
}

function differenceLines(
  difference: ItemDifference,
  layout: "eachValue" | "together",
): DifferenceLine[] {
  const { kind, item } = difference;
  switch (difference.kind) {
    case "added":
      return [{ kind, head: `+ ${item}`, detail: "" }];
    case "removed":
      return [{ kind, head: `- ${item}`, detail: "" }];
    case "changed": {
      const values = difference.changes.map(valueText);
      const details = layout === "together" ? [values.join(", ")] : values;
      return details.map((detail) => ({ kind, head: `~ ${item}:`, detail }));
    }
  }
}

/** "spec.replicas 2 -> 4", "spec.taints none -> [...]", "metadata.annotations.note changed (not shown)". */
function valueText(value: ValueDifference): string {
  if (value.kind === "withheld") return `${value.path} ${value.what} (value not shown)`;
  return `${value.path} ${jsonText(value.from)} -> ${jsonText(value.to)}`;
}

function jsonText(value: Json | undefined): string {
  if (value === undefined) return "none";
  if (isRef(value)) return `${value.output} of ${value.$ref}`;
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}

function colourOf(kind: ItemDifference["kind"], colors: Colors): (text: string) => string {
  switch (kind) {
    case "added":
      return colors.green;
    case "removed":
      return colors.red;
    case "changed":
      return colors.yellow;
  }
}
