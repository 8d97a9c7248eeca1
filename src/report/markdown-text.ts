import { cutTo } from "../api/bounded-text.js";

/** GitHub refuses a longer body of a comment. It counts characters; here bytes are, which are never fewer. */
export const commentLimit = 65_536;
/** Left free for what puts the comment there, such as a key in its marker. */
const reserved = 256;
/** How long a document for a comment gets. */
export const commentRoom = commentLimit - reserved;

const encoder = new TextEncoder();

/** Bytes in UTF-8. */
export function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

/**
 * Without line ends and other control characters, and without those invisible ones that reorder or
 * hide text: what is shown is what is there. Pure.
 */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
}

/** Longer values are cut; the other formats have them in full. */
const longestValue = 400;

/**
 * Text from elsewhere within a line of Markdown. It is put into a code element, where no @mention or
 * issue number becomes a link, with everything that could be markup as a reference. Pure.
 */
export function inlineCode(text: string): string {
  return `<code>${references(cutTo(visible(text), longestValue))}</code>`;
}

/** The same for sentences of our own that quote such text: an @ is code, so it mentions nobody. Pure. */
export function inlineText(text: string): string {
  return references(cutTo(visible(text), longestValue)).replaceAll("&#64;", "<code>&#64;</code>");
}

/** Letters, digits and harmless punctuation stay as they are. */
function references(text: string): string {
  return text.replace(/[^\p{L}\p{N} ,;:()…→-]/gu, (char) => `&#${String(char.codePointAt(0))};`);
}

/** A fence that the lines cannot close. Pure. */
export function fenceFor(lines: readonly string[]): string {
  const longest = lines.reduce(
    (length, line) => Math.max(length, ...[...line.matchAll(/`+/g)].map(([ticks]) => ticks.length)),
    0,
  );
  return "`".repeat(Math.max(3, longest + 1));
}
