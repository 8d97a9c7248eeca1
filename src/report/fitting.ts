import { bytesOf } from "./markdown-text.js";

/** A part of a document that may be shown with fewer lines than it has. */
export interface Part {
  /** Parts of a lower rank get their room first; those of one rank share it. */
  readonly rank: number;
  readonly lines: readonly string[];
  /** Shown with all its lines or none. */
  readonly isWhole?: boolean;
  /** The part with its first `count` lines; it says how much is left out. */
  render(count: number): string;
}

/**
 * Parts in their order, each with as many of its lines as there is room for. Together they have at
 * most `limit` bytes, if they have without any lines. Pure.
 */
export function fitParts(parts: readonly Part[], limit: number): string[] {
  const bare = parts.reduce((total, part) => total + bytesOf(part.render(0)), 0);
  let room = limit - bare;
  const counts = new Map<Part, number>();
  for (const rank of [...new Set(parts.map((part) => part.rank))].sort((a, b) => a - b)) {
    // What needs little leaves the rest of its share to what needs more.
    const sharing = parts
      .filter((part) => part.rank === rank)
      .map((part) => ({ part, size: sizeOf(part.lines) }))
      .sort((left, right) => left.size - right.size);
    for (const [place, { part }] of sharing.entries()) {
      const count = linesWithin(part, room / (sharing.length - place));
      counts.set(part, count);
      room -= sizeOf(part.lines.slice(0, count));
    }
  }
  return parts.map((part) => part.render(counts.get(part) ?? 0));
}

/** How many of the first lines have room. */
function linesWithin({ lines, isWhole = false }: Part, room: number): number {
  let left = room;
  for (const [count, line] of lines.entries()) {
    left -= sizeOf([line]);
    if (left < 0) return isWhole ? 0 : count;
  }
  return lines.length;
}

/** Bytes with line ends. */
function sizeOf(lines: readonly string[]): number {
  return lines.reduce((total, line) => total + bytesOf(line) + 1, 0);
}
