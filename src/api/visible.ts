/** Joiners and variation selectors of emoji. */
const inEmoji =
  /(?<=\p{Extended_Pictographic}[\ufe0f\p{Emoji_Modifier}]?)\u200d(?=\p{Extended_Pictographic})|(?<=\p{Extended_Pictographic})[\ufe0e\ufe0f]/u;

/** Joiners between letters of scripts that are written with them. In other scripts they only make two names look alike. */
const betweenLetters =
  /(?<=(?![\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])[\p{L}\p{M}])[\u200c\u200d](?=(?![\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])[\p{L}\p{M}])/u;

/**
 * Characters that steer the display of a text, or hide in it, instead of being shown:
 * - control characters but tab and line feed (C0, DEL, C1), and the line and paragraph separators;
 * - all that Unicode lets a display ignore: marks of direction (Unicode Standard Annex 9), zero-width characters, the soft hyphen,
 *   fillers, tags and variation selectors.
 */
const steering = new RegExp(
  `(?![\\t\\n])\\p{Cc}|[\\u2028\\u2029]|(?!${inEmoji.source}|${betweenLetters.source})\\p{Default_Ignorable_Code_Point}`,
  "gu",
);

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

/** In the units of UTF-16, as JSON writes them. */
function escaped(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
