import {
  dependenciesOf,
  type GraphNode,
  keyOf,
  type NodeKey,
  refsIn,
  type ResourceGraph,
} from "./graph.js";

/** A graph with the name of what it is a graph of. */
export interface TitledGraph {
  readonly title: string;
  readonly nodes: ResourceGraph;
  /** What is said of nodes beyond their names, for Mermaid. */
  readonly marks?: ReadonlyMap<NodeKey, Mark>;
}

/** A line of text in a node, and the class that colours it. */
interface Mark {
  readonly text: string;
  readonly className: string;
}

/** Colours of a class of nodes, "#rrggbb" each. */
export interface NodeStyle {
  readonly fill: string;
  readonly stroke: string;
  readonly color: string;
}

export type GraphFormat = "mermaid" | "dot";

/** One box or frame of a drawing; frames hold others. Ids are unique in the drawing. */
interface Shape {
  readonly id: string;
  readonly node: GraphNode;
  readonly inside: readonly Shape[];
}

interface Arrow {
  readonly from: Shape;
  readonly to: Shape;
  /** The fields that need it; empty where only the order counts. */
  readonly fields: readonly string[];
}

interface Drawing {
  readonly id: string;
  readonly title: string;
  readonly shapes: readonly Shape[];
  readonly arrows: readonly Arrow[];
  readonly marks: ReadonlyMap<NodeKey, Mark>;
}

/**
 * Graphs as text that Mermaid or Graphviz draws. An arrow leads from a resource to what it needs.
 * Pure: the same graphs give the same text, in the order in which they were compiled.
 */
export function renderGraphs(graphs: readonly TitledGraph[], format: GraphFormat): string {
  const drawings = graphs.map(draw);
  const lines = format === "dot" ? dotLines(drawings) : mermaidLines(drawings);
  return `${lines.join("\n")}\n`;
}

/** The same for Mermaid, with styles for the classes of marks. Pure. */
export function renderMarkedGraphs(
  graphs: readonly TitledGraph[],
  styles: Readonly<Record<string, NodeStyle>>,
): string {
  const classes = Object.entries(styles).map(
    ([name, { fill, stroke, color }]) =>
      `  classDef ${name} fill:${fill},stroke:${stroke},color:${color}`,
  );
  return `${[...mermaidLines(graphs.map(draw)), ...classes].join("\n")}\n`;
}

function draw({ title, nodes, marks = new Map() }: TitledGraph, index: number): Drawing {
  const id = `g${index}`;
  const byKey = new Map<NodeKey, Shape & { inside: Shape[] }>(
    nodes.map((node, place) => [keyOf(node), { id: `${id}n${place}`, node, inside: [] }]),
  );
  const shapes: Shape[] = [];
  for (const shape of byKey.values()) {
    const { parent } = shape.node;
    const siblings = parent === undefined ? shapes : (byKey.get(parent)?.inside ?? shapes);
    siblings.push(shape);
  }
  const arrows = [...byKey.values()].flatMap((shape) => arrowsOf(shape, byKey));
  return { id, title, shapes, arrows, marks };
}

/** Being inside a frame is shown by the frame itself. */
function arrowsOf(from: Shape, byKey: ReadonlyMap<NodeKey, Shape>): Arrow[] {
  const { node } = from;
  return dependenciesOf(node).flatMap((key) => {
    const to = byKey.get(key);
    if (to === undefined || key === node.parent) return [];
    const fields = Object.entries(node.spec)
      .filter(([, value]) => refsIn(value).some((ref) => ref.$ref === key))
      .map(([field]) => field);
    return [{ from, to, fields }];
  });
}

function mermaidLines(drawings: readonly Drawing[]): string[] {
  return [
    "flowchart BT",
    ...drawings.flatMap((drawing) => [
      `  subgraph ${drawing.id}["${mermaidText(drawing.title)}"]`,
      ...drawing.shapes.flatMap((shape) => mermaidShape(shape, drawing.marks, "    ")),
      "  end",
      ...drawing.arrows.map(({ from, to, fields }) => {
        const label = fields.length === 0 ? "" : `|"${mermaidText(fields.join(", "))}"|`;
        return `  ${from.id} -->${label} ${to.id}`;
      }),
    ]),
  ];
}

function mermaidShape(
  { id, node, inside }: Shape,
  marks: Drawing["marks"],
  indent: string,
): string[] {
  const mark = marks.get(keyOf(node));
  const words = [node.kind, node.name, ...(mark === undefined ? [] : [mark.text])];
  const label = words.map(mermaidText).join("<br/>");
  const suffix = mark === undefined ? "" : `:::${mark.className}`;
  if (inside.length === 0) return [`${indent}${id}["${label}"]${suffix}`];
  return [
    `${indent}subgraph ${id}["${mermaidText(`${node.kind} ${node.name}`)}"]`,
    ...inside.flatMap((shape) => mermaidShape(shape, marks, `${indent}  `)),
    `${indent}end`,
  ];
}

/** Mermaid knows entities only: everything that could end a label, or be taken for markup. */
function mermaidText(text: string): string {
  return text.replace(/[^\p{L}\p{N} _.,/:-]/gu, (char) => `#${String(char.codePointAt(0))};`);
}

function dotLines(drawings: readonly Drawing[]): string[] {
  return [
    "digraph capstan {",
    "  compound=true;",
    "  rankdir=BT;",
    '  node [shape=box, style=rounded, fontname="sans-serif"];',
    '  edge [fontname="sans-serif", fontsize=10];',
    '  graph [fontname="sans-serif"];',
    ...drawings.flatMap((drawing) => [
      `  subgraph cluster_${drawing.id} {`,
      `    label=${dotText(drawing.title)};`,
      ...drawing.shapes.flatMap((shape) => dotShape(shape, "    ")),
      "  }",
      ...drawing.arrows.map(dotArrow),
    ]),
    "}",
  ];
}

function dotShape({ id, node, inside }: Shape, indent: string): string[] {
  if (inside.length === 0) {
    return [`${indent}${id} [label=${dotText(`${node.kind}\n${node.name}`)}];`];
  }
  return [
    `${indent}subgraph cluster_${id} {`,
    `${indent}  label=${dotText(`${node.kind} ${node.name}`)};`,
    ...inside.flatMap((shape) => dotShape(shape, `${indent}  `)),
    `${indent}}`,
  ];
}

/** Graphviz draws arrows between boxes only: one to a frame goes to its first box, cut at the frame. */
function dotArrow({ from, to, fields }: Arrow): string {
  const tail = endOf(from);
  const head = endOf(to);
  const attributes = [
    ...(fields.length === 0 ? [] : [`label=${dotText(fields.join(", "))}`]),
    ...(tail.frame === undefined ? [] : [`ltail=cluster_${tail.frame}`]),
    ...(head.frame === undefined ? [] : [`lhead=cluster_${head.frame}`]),
  ];
  const suffix = attributes.length === 0 ? "" : ` [${attributes.join(", ")}]`;
  return `  ${tail.box} -> ${head.box}${suffix};`;
}

function endOf(shape: Shape): { box: string; frame?: string } {
  let box = shape;
  while (box.inside[0] !== undefined) box = box.inside[0];
  return box === shape ? { box: box.id } : { box: box.id, frame: shape.id };
}

/** A quoted string of the DOT language; "\n" is its line break. */
function dotText(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replace(/\r?\n/g, "\\n");
  return `"${escaped}"`;
}
