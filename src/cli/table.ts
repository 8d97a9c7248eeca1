import { fit, padded, widthOf } from "./fit.js";

/** Rows under a head, columns aligned, three spaces apart, cut at the width; ends with a line end. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  columns = Infinity,
): string {
  return aligned([head, ...rows])
    .map((line) => `${fit(line, columns)}\n`)
    .join("");
}

/** Rows of cells as lines with aligned columns. */
export function aligned(
  rows: readonly (readonly string[])[],
  widths: readonly number[] = widthsOf(rows),
): string[] {
  return rows.map((row) =>
    row
      .map((cell, column) => padded(cell, widths[column] ?? 0))
      .join("   ")
      .trimEnd(),
  );
}

/** The width that each column needs. */
export function widthsOf(rows: readonly (readonly string[])[]): number[] {
  const count = Math.max(0, ...rows.map((row) => row.length));
  return Array.from({ length: count }, (_, column) =>
    rows.reduce((width, row) => Math.max(width, widthOf(row[column] ?? "")), 0),
  );
}
