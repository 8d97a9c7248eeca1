import { wordFor } from "../api/counted.js";
import { withThousands } from "./alike.js";
import type { Part } from "./fitting.js";
import { cutTo } from "../api/bounded-text.js";
import { fenceFor, visible } from "./markdown-text.js";

interface CodeLine {
  readonly text: string;
  /** How many things it stands for; 0 for a headline. */
  readonly size: number;
}

export interface CodePart {
  readonly title: string;
  /** What the sizes count, one of it: "line". */
  readonly unit: string;
  readonly lines: readonly CodeLine[];
  readonly isOpen?: boolean;
  readonly rank?: number;
}

/** Lines of a code block are not wrapped: nobody reads to the end of a longer one. */
const longestLine = 600;

/**
 * A folded part with a code block, where nothing is markup; `diff` colours its lines by their first
 * character. It says how much is in it and how much has no room. None for no lines. Pure.
 */
export function codePart({ title, unit, lines, isOpen = false, rank = 1 }: CodePart): Part[] {
  if (lines.length === 0) return [];
  const texts = lines.map(({ text }) => cutTo(visible(text), longestLine));
  const fence = fenceFor(texts);
  const size = sizeOf(lines);
  const all = `${withThousands(size)} ${wordFor(size, unit)}`;
  const render = (count: number) => {
    const missing = sizeOf(lines.slice(count));
    const left = `**Left out here: ${withThousands(missing)} of ${all}.**`;
    return folded(`${title}: ${all}`, isOpen, [
      ...(count === 0 ? [] : [`${fence}diff`, ...texts.slice(0, count), fence, ""]),
      ...(missing === 0 ? [] : [left, ""]),
    ]);
  };
  return [{ rank, lines: texts, render }];
}

function sizeOf(lines: readonly CodeLine[]): number {
  return lines.reduce((total, { size }) => total + size, 0);
}

/** Lines under a title that opens and closes. */
export function folded(title: string, isOpen: boolean, body: readonly string[]): string {
  const head = `<details${isOpen ? " open" : ""}><summary>${title}</summary>`;
  return [head, "", ...body, "</details>", "", ""].join("\n");
}
