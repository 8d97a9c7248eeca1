/** Characters that take two columns: East Asian wide ones and pictures. Source: UAX #11, UTS #51. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;
const takesNoRoom = /\p{Mn}|\p{Me}|\p{Cf}/u;

/** How many columns of a terminal a text without control characters takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const char of text) width += widthOfChar(char);
  return width;
}

/**
 * One line that fits into the columns: what is too long ends in an ellipsis, and control characters
 * become blanks, so that a message from elsewhere cannot break the screen. To be coloured afterwards.
 */
export function fit(text: string, columns: number): string {
  const line = text.replace(/\p{Cc}+/gu, " ").trimEnd();
  if (widthOf(line) <= columns) return line;
  let room = Math.max(columns - 1, 0);
  let kept = "";
  for (const char of line) {
    room -= widthOfChar(char);
    if (room < 0) break;
    kept += char;
  }
  return columns < 1 ? "" : `${kept.trimEnd()}…`;
}

/** A text broken between words; a longer word gets a line of its own. At least one line. */
export function wrap(text: string, columns: number): string[] {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && widthOf(line) + 1 + widthOf(word) > columns) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines;
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

/** Padded to a width, whatever its characters take. */
export function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - widthOf(text)));
}

function widthOfChar(char: string): number {
  if (char < "\u0300") return 1;
  if (takesNoRoom.test(char)) return 0;
  return wide.test(char) ? 2 : 1;
}
