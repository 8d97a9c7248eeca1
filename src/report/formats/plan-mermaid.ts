import { nodeKey } from "../../graph/graph.js";
import { type NodeStyle, renderMarkedGraphs, type TitledGraph } from "../../graph/render.js";
import type { ChangeKind, Plan } from "../../plan/plan.js";
import { verbOf } from "../../plan/changes/tree.js";
import { type ChangeGraph, changeGraph } from "../change-graph.js";

/** Dark text on light boxes: readable on a page of either colour. */
const styles: Readonly<Record<Exclude<ChangeKind, "external">, NodeStyle>> = {
  same: { fill: "#f0f1f3", stroke: "#9aa2ad", color: "#3d4450" },
  move: { fill: "#e3e8fb", stroke: "#4358b0", color: "#1d2a69" },
  create: { fill: "#dff3e4", stroke: "#2c8a4b", color: "#12522a" },
  adopt: { fill: "#dff0f7", stroke: "#2a7d9c", color: "#11475c" },
  import: { fill: "#dff0f7", stroke: "#2a7d9c", color: "#11475c" },
  update: { fill: "#fff2cf", stroke: "#b98900", color: "#5c4300" },
  replace: { fill: "#f3e3fb", stroke: "#8b3fb0", color: "#4f1a69" },
  forget: { fill: "#f6e9df", stroke: "#a05a20", color: "#5a3010" },
  delete: { fill: "#fde4e1", stroke: "#c0392b", color: "#75180e" },
};

/** What plans change, as a flowchart for Mermaid: one frame for each cluster, a colour for each kind. Pure. */
export function planMermaid(plans: readonly Plan[]): string {
  return renderMarkedGraphs(
    plans.map((plan) => titledGraph(changeGraph(plan))),
    styles,
  );
}

function titledGraph({ title, boxes }: ChangeGraph): TitledGraph {
  const keys = boxes.map(({ what, name }) => nodeKey(what, name));
  return {
    title,
    nodes: boxes.map(({ what, name, needs }) => ({
      kind: what,
      name,
      type: "resource",
      spec: {},
      dependsOn: needs.flatMap((need) => keys[need] ?? []),
    })),
    marks: new Map(
      boxes.map(({ what, name, kind }) => [
        nodeKey(what, name),
        // What is external stays as it is, and looks so.
        { text: verbOf(kind), className: kind === "external" ? "same" : kind },
      ]),
    ),
  };
}
