/** The lines of a text from anywhere, without what ends the last one. At least one. Pure. */
export function linesOf(text: string): string[] {
  return text.trimEnd().split(/\r\n|\r|\n/);
}

/** Somebody else's words inside of a text of ours: their further lines stand further in. Pure. */
export function quoted(words: string): string {
  return linesOf(words).join("\n  ");
}

/** The lines of a text of ours, each with those that are quoted in it. Pure. */
export function statementsOf(text: string): string[] {
  return text.split(/\n(?! )/);
}
