import { fit, widthOf } from "./fit.js";

/** Cells by row. The first row is the head where there is one. */
export type Cells = readonly (readonly string[])[];

/** Rows under a head, cut at the width; ends with a line end. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columns = Infinity,
): string {
  return aligned([head, ...rows])
    .map((line) => `${fit(line, columns)}\n`)
    .join("");
}

/** "Name:   value" lines; those without a value are left out. */
export function facts(indent: string, pairs: readonly (readonly [string, string])[]): string[] {
  const known = pairs.filter(([, value]) => value !== "");
  const lines = aligned(known.map(([name, value]) => [`${name}:`, value]));
  return lines.map((line) => indent + line.trimEnd());
}

/**
 * A table that something of any length stands behind, under a title of its own where there is room for
 * it. The rows are as long as the columns, so that what stands behind them is aligned too.
 */
export function openTable(
  cells: Cells,
  title: string,
  columns: number,
): { readonly head: string; readonly rows: readonly string[] } {
  const [first = "", ...rows] = aligned(cells);
  const titled = `${first}   ${title}`.trimEnd();
  return { head: widthOf(titled) <= columns ? titled : fit(first, columns), rows };
}

/** The first of these tables that fits. The last one, which has the least, where none does. */
export function firstThatFits(choices: readonly Cells[], columns: number): Cells {
  return choices.find((cells) => widthOfTable(cells) <= columns) ?? choices.at(-1) ?? [];
}

/** Rows of cells as lines with aligned columns, each as long as the columns. */
export function aligned(cells: Cells): string[] {
  const widths = widthsOf(cells);
  return cells.map((row) => inColumns(row, widths));
}

/** One row in columns of these widths, three spaces apart. */
export function inColumns(row: readonly string[], widths: readonly number[]): string {
  return widths.map((width, column) => padded(row[column] ?? "", width)).join(gap);
}

/** The width that each column needs. */
export function widthsOf(cells: Cells): number[] {
  const count = Math.max(0, ...cells.map((row) => row.length));
  return Array.from({ length: count }, (_, column) =>
    cells.reduce((width, row) => Math.max(width, widthOf(row[column] ?? "")), 0),
  );
}

const gap = "   ";

function widthOfTable(cells: Cells): number {
  return widthsOf(cells).reduce((sum, width) => sum + gap.length + width, -gap.length);
}

/** Padded to a width, whatever its characters take. */
function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}
