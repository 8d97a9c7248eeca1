/**
 * How go-cloud writes keys down that a store could not take as they are: a character becomes `__0x<hex>__`,
 * and so does the beginning of what would be read as such a one. Source:
 * https://github.com/google/go-cloud/blob/b5401c07b5f1/internal/escape/escape.go.
 */

/** A key as a folder has it under its root. Pure. Source: .../blob/fileblob/fileblob.go, escapeKey (not on Windows). */
export function fileKey(key: string): string {
  return hexEscape(key, (characters, at) => {
    const isSlash = characters[at] === "/";
    const isSecond = isSlash && characters[at - 1] === "/";
    return isSecond || (isSlash && at === characters.length - 1) || mustEscape(characters, at);
  });
}

/** A key as an S3 bucket has it. Pure. Source: .../blob/s3blob/s3blob.go, escapeKey. */
export function s3Key(key: string): string {
  return hexEscape(key, mustEscape);
}

/** The key that was written down so. Pure. */
export function unescapedKey(written: string): string {
  return written.replace(escapeSequence, (whole: string, digits: string) => {
    const code = Number.parseInt(digits, 16);
    return code > 0x10ffff ? whole : String.fromCodePoint(code);
  });
}

const escapeSequence = /__0x([0-9a-f]{1,8})__/gi;
const escapeAhead = new RegExp(`^${escapeSequence.source}`, "i");

function hexEscape(
  key: string,
  shouldEscape: (characters: readonly string[], at: number) => boolean,
): string {
  const characters = Array.from(key);
  const escaped = characters.map((character, at) => {
    const isAhead = character === "_" && escapeAhead.test(characters.slice(at).join(""));
    if (!isAhead && !shouldEscape(characters, at)) return character;
    return `__0x${codeOf(character).toString(16)}__`;
  });
  return escaped.join("");
}

/** Control characters, and the slash after two dots. */
function mustEscape(characters: readonly string[], at: number): boolean {
  const character = characters[at] ?? "";
  if (codeOf(character) < 32) return true;
  return character === "/" && characters[at - 1] === "." && characters[at - 2] === ".";
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}
