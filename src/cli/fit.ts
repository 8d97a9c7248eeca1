import { createRequire } from "node:module";
import { stripVTControlCharacters } from "node:util";
import { visible } from "../api/visible.js";

// Loaded for the first text that needs them, since the expressions for emoji take a twentieth of a second.
const load = createRequire(import.meta.url);
const stringWidth = () => load("string-width") as typeof import("string-width");
const wrapAnsi = () => load("wrap-ansi") as typeof import("wrap-ansi");

/** ASCII, the lines of trees and tables, and two signs of ours: a column each. */
const plain = /^[ -~\u2500-\u257f…·]*$/;

/** How many columns of a terminal a text takes, an escape sequence none. */
export function widthOf(text: string): number {
  const bare = stripVTControlCharacters(text);
  return plain.test(bare) ? bare.length : stringWidth().default(text);
}

const graphemes = new Intl.Segmenter();

/**
 * One line that fits into the columns: what is too long ends in an ellipsis, and control characters
 * become blanks, so that a message from elsewhere cannot break the screen; what else steers is seen (`visible`). To be coloured afterwards.
 */
export function fit(text: string, columns: number): string {
  const line = visible(text.replace(/\p{Cc}+/gu, " ").trimEnd());
  if (widthOf(line) <= columns) return line;
  let room = Math.max(columns - 1, 0);
  let kept = "";
  for (const { segment } of graphemes.segment(line)) {
    room -= widthOf(segment);
    if (room < 0) break;
    kept += segment;
  }
  return columns < 1 ? "" : `${kept.trimEnd()}…`;
}

/** A text broken between words; a longer word gets a line of its own. At least one line. */
export function wrap(text: string, columns: number): string[] {
  const line = text.split(/\s+/).join(" ");
  const fits = plain.test(line) && line.length <= columns;
  return fits ? [line.trim()] : wrapAnsi().default(line, columns).split("\n");
}

/** In a narrower place a text cannot be read. */
export const leastRoom = 16;

/**
 * A row of a tree with its detail behind it, or below it, further in than the branch, where the line
 * would be too long: nothing of the detail is lost.
 */
export function rowLines(
  { branch, head, detail }: { branch: string; head: string; detail: string },
  columns: number,
): string[] {
  const whole = `${head}   ${detail}`.trimEnd();
  if (widthOf(whole) <= columns) return [whole];
  const inside = `${branch.replace(/├─/g, "│ ").replace(/└─/g, "  ")}  `;
  const room = columns - widthOf(inside);
  if (room < leastRoom) return [fit(whole, columns)];
  return [head.trimEnd(), ...wrap(detail, room).map((line) => inside + line)].map((line) =>
    fit(line, columns),
  );
}

/** Lines a little further in, and still further where they go on; without control characters. */
export function indented(lines: readonly string[], columns: number): string[] {
  const room = Math.max(leastRoom, columns - 4);
  return lines.flatMap((text) => {
    const line = fit(text, Infinity);
    if (widthOf(line) + 2 <= columns) return [`  ${line}`];
    return wrap(line, room).map((part, index) => (index === 0 ? `  ${part}` : `    ${part}`));
  });
}
