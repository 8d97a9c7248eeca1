import type { TargetDifference } from "../plan/compare/compare.js";
import { codePart } from "./code-part.js";
import { differenceSections } from "./difference.js";
import { fitParts } from "./fitting.js";
import { bytesOf, commentRoom, inlineCode } from "./markdown-text.js";

/** The first line of every such document: by it the comment of an earlier run is found. */
const differenceMarker = "<!-- capstan-diff -->";

/**
 * What two clusters differ in, as a comment: a part for each section, with at most `limit` bytes in all.
 * Nothing in it that comes from elsewhere can be markup. Pure.
 */
export function differenceMarkdown(
  { from, to }: { readonly from: string; readonly to: string },
  difference: TargetDifference,
  limit = commentRoom,
): string {
  const sections = differenceSections(difference);
  const result = sections.length === 0 ? "the same" : "they differ";
  const title = `## Capstan diff: ${result}`;
  const head = [differenceMarker, title, `${inlineCode(from)} → ${inlineCode(to)}`, ""].join(
    "\n\n",
  );
  const parts = sections.flatMap(({ title: name, lines }) =>
    codePart({
      title: name,
      unit: "line",
      isOpen: true,
      lines: lines.map(({ kind, head: about, detail }) => ({
        // A diff has no sign for what has changed; this one has a colour.
        text: `${kind === "changed" ? about.replace(/^~/, "!") : about} ${detail}`.trimEnd(),
        size: 1,
      })),
    }),
  );
  return [head, ...fitParts(parts, limit - bytesOf(head))].join("");
}
