import { isSame, type ItemDifference, type TargetDifference } from "../plan/compare/compare.js";
import { type DifferenceLine, differenceSections } from "../report/difference.js";
import { fit, indented, widthOf } from "./fit.js";
import type { Colors, Terminal } from "./terminal.js";

/** What leads from one revision of a cluster to another. */
export function revisionDifferenceText(
  { from, to, cluster }: { readonly from: number; readonly to: number; readonly cluster: string },
  difference: TargetDifference,
  terminal: Pick<Terminal, "colors" | "columns">,
): string {
  if (isSame(difference)) return `Revisions ${from} and ${to} of ${cluster} are the same\n`;
  return differenceText(`Cluster ${cluster}   revision ${from} -> ${to}`, difference, terminal);
}

/** A headline, then a line for each value of an object, and each machine. */
export function differenceText(
  headline: string,
  difference: TargetDifference,
  { colors, columns }: Pick<Terminal, "colors" | "columns">,
): string {
  const sections = differenceSections(difference).flatMap(({ title, lines }) => [
    "",
    `${title}:`,
    ...lines.flatMap((line) => laidOut(line, columns).map(colourOf(line.kind, colors))),
  ]);
  return [headline, ...sections, ""].join("\n");
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
