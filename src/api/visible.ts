/**
 * Characters that steer what shows a text instead of being shown: control characters but tab and line feed (C0, DEL, C1), the marks
 * that turn the direction of a line (Unicode Standard Annex 9), and the line and paragraph separators.
 */
const steering = /(?![\t\n])\p{Cc}|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** What CI systems carry out of a log: "::" where a line begins, and "##vso[" and its like anywhere. */
const logCommands = /:(?=:)(?<=^[^\S\n]*:)|#(?=#\w*\[)/gmu;

/**
 * The text with all of that as "\uXXXX", so that it is seen and does nothing. JSON stays the same JSON. Pure.
 */
export function visible(text: string): string {
  return text.replace(steering, escaped).replace(logCommands, escaped);
}

const escape = String.fromCharCode(0x1b);

/** Colours and weights, and nothing that hides, moves or erases. */
const paint = new RegExp(`(${escape}\\[(?:0|1|2|3|4|22|23|24|3[0-79]|9[0-7])m)`, "u");

/** The same for a text that was painted: its colours stay. Pure. */
export function visiblePainted(text: string): string {
  const parts = text.split(paint);
  return parts
    .map((part, at) => (at % 2 === 1 ? part : part.replace(steering, escaped)))
    .join("")
    .replace(logCommands, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
