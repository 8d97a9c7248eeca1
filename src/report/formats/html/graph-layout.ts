import type { ChangeBox, ChangeGraph } from "../../change-graph.js";

/** A box with its place. Lengths are in units of the drawing, about pixels. */
export interface PlacedBox extends ChangeBox {
  readonly x: number;
  readonly y: number;
}

interface Layout {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly PlacedBox[];
}

export const boxSize = { width: 206, height: 60 };
const gap = { x: 64, y: 16, column: 20 };
const margin = 16;
/** A layer with more boxes goes on in another column beside it. */
const mostRows = 10;

/**
 * Layers from left to right: what needs nothing first, everything else to the right of all that it
 * needs; within a layer, boxes near to what they need. Linear but for sorting, and the same graph gives
 * the same drawing. Pure.
 */
export function layOut({ boxes }: ChangeGraph): Layout {
  const layers = layersOf(boxes);
  const heightOf = new Map<number, number>();
  const placed: PlacedBox[] = [];
  let x = margin;
  for (const layer of layers) {
    const near = (box: ChangeBox): number => meanOf(box.needs.map((id) => heightOf.get(id) ?? 0));
    const sorted = [...layer].sort((left, right) => near(left) - near(right) || left.id - right.id);
    const columns = Math.max(1, Math.ceil(sorted.length / mostRows));
    const rows = Math.ceil(sorted.length / columns);
    for (const [place, box] of sorted.entries()) {
      const y = margin + (place % rows) * (boxSize.height + gap.y);
      const column = Math.floor(place / rows);
      heightOf.set(box.id, y);
      placed.push({ ...box, x: x + column * (boxSize.width + gap.column), y });
    }
    x += columns * boxSize.width + (columns - 1) * gap.column + gap.x;
  }
  const bottom = placed.reduce((lowest, { y }) => Math.max(lowest, y + boxSize.height), 0);
  const width = placed.length === 0 ? 0 : x - gap.x + margin;
  return { width, height: bottom + margin, boxes: centred(placed, bottom) };
}

/** By the longest way to something that needs nothing. Boxes never need each other in a circle. */
function layersOf(boxes: readonly ChangeBox[]): ChangeBox[][] {
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const depths = new Map<number, number>();
  const depthOf = (box: ChangeBox, above: ReadonlySet<number>): number => {
    const known = depths.get(box.id);
    if (known !== undefined) return known;
    const inner = new Set([...above, box.id]);
    const needs = box.needs.flatMap((id) => (inner.has(id) ? [] : (byId.get(id) ?? [])));
    const depth = needs.reduce((deepest, need) => Math.max(deepest, 1 + depthOf(need, inner)), 0);
    depths.set(box.id, depth);
    return depth;
  };
  const deepest = boxes.reduce((deep, box) => Math.max(deep, depthOf(box, new Set())), 0);
  const layers: ChangeBox[][] = [];
  for (const box of boxes) {
    // What goes is in no graph any more; mostly it was something that others do not need.
    const isLoose = box.kind === "delete" && box.needs.length === 0;
    (layers[isLoose ? deepest : depthOf(box, new Set())] ??= []).push(box);
  }
  return layers;
}

/** Lower columns stand in the middle of the height, so that arrows are short. */
function centred(boxes: readonly PlacedBox[], bottom: number): PlacedBox[] {
  const lowest = new Map<number, number>();
  for (const { x, y } of boxes) {
    lowest.set(x, Math.max(lowest.get(x) ?? 0, y + boxSize.height));
  }
  return boxes.map((box) => ({ ...box, y: box.y + (bottom - (lowest.get(box.x) ?? bottom)) / 2 }));
}

/** Of nothing: what needs nothing stands below what does. */
function meanOf(numbers: readonly number[]): number {
  if (numbers.length === 0) return Infinity;
  return numbers.reduce((total, number) => total + number, 0) / numbers.length;
}
