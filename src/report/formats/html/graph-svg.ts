import { verbOf } from "../../../plan/changes/tree.js";
import type { ChangeGraph } from "../../change-graph.js";
import { boxSize, layOut, type PlacedBox } from "./graph-layout.js";
import { html, type Markup } from "./markup.js";

/** Characters that have room in a box. */
const room = { what: 30, name: 23 };

/** The graph as a drawing in the page; an arrow leads from a box to what it needs. Pure. */
export function graphSvg(graph: ChangeGraph, id: string): Markup {
  const { width, height, boxes } = layOut(graph);
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const arrows = boxes.flatMap((from) =>
    from.needs.flatMap((need) => {
      const to = byId.get(need);
      return to === undefined ? [] : [arrow(from, to, id)];
    }),
  );
  return html`<svg
    class="graph"
    role="img"
    aria-labelledby="${id}-title"
    width="${width}"
    height="${height}"
    viewBox="0 0 ${width} ${height}"
  >
    <title id="${id}-title">
      ${graph.title}: ${boxes.length} boxes, arrows lead to what each needs
    </title>
    <defs>
      <marker
        id="${id}-tip"
        viewBox="0 0 8 8"
        refX="7"
        refY="4"
        markerWidth="7"
        markerHeight="7"
        orient="auto"
      >
        <path class="tip" d="M0 0 8 4 0 8z" />
      </marker>
    </defs>
    <g class="arrows">${arrows}</g>
    <g>${boxes.map(box)}</g>
  </svg>`;
}

function arrow(from: PlacedBox, to: PlacedBox, id: string): Markup {
  const start = { x: from.x, y: middle(from) };
  const end = { x: to.x + boxSize.width, y: middle(to) };
  const bend = Math.max(24, (start.x - end.x) / 2);
  const path = `M${start.x} ${start.y}C${start.x - bend} ${start.y} ${end.x + bend} ${end.y} ${end.x + 2} ${end.y}`;
  return html`<path d="${path}" marker-end="url(#${id}-tip)" />`;
}

function middle({ y }: PlacedBox): number {
  return y + boxSize.height / 2;
}

function box({ kind, what, name, x, y }: PlacedBox): Markup {
  return html`<g class="box ${kind}" transform="translate(${x} ${y})"
    ><title>${what} ${name}: ${verbOf(kind)}</title>
    <rect width="${boxSize.width}" height="${boxSize.height}" rx="9" /><rect
      class="edge"
      width="5"
      height="${boxSize.height}"
      rx="2.5"
    /><text x="16" y="20" class="what">${shortened(what, room.what)}</text>
    <text x="16" y="37" class="name">${shortened(name, room.name)}</text
    ><text x="16" y="52" class="verb">${verbOf(kind)}</text></g
  >`;
}

/** With the end kept, which tells machines apart. */
function shortened(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const tail = Math.floor(characters / 2);
  return `${text.slice(0, characters - tail - 1)}…${text.slice(text.length - tail)}`;
}
