import { dependenciesOf, keyOf, type NodeKey } from "../graph/graph.js";
import type { ChangeKind, Plan } from "../plan/plan.js";
import { type ChangeLine, type ChangeNode, changeTree } from "../plan/changes/tree.js";
import { alikeNames, groupAlike, isMachineLine, machineName, withThousands } from "./alike.js";

/** A box of the drawing: a resource, a machine with its host, or machines that are changed alike. */
export interface ChangeBox {
  /** Unique in the drawing; small numbers in the order of the tree. */
  readonly id: number;
  readonly kind: ChangeKind;
  /** "LocalNetwork", "Machine", "Machines". */
  readonly what: string;
  readonly name: string;
  /** The boxes that it needs, without those that one of these needs already. */
  readonly needs: readonly number[];
}

/** What there will be and what goes, as boxes in the order of the tree. */
export interface ChangeGraph {
  readonly title: string;
  readonly boxes: readonly ChangeBox[];
}

/** A drawing with more boxes cannot be read: machines are put together more coarsely then. */
const mostBoxes = 60;

interface Grouping {
  readonly what: string;
  readonly name: string;
  readonly lines: readonly ChangeLine[];
}

/** The plan's tree as a graph: an arrow leads from what needs something to what it needs. Pure. */
export function changeGraph(plan: Plan): ChangeGraph {
  const tree = changeTree(plan);
  const fine = groupings(tree, byDetail);
  const all = fine.length <= mostBoxes ? fine : groupings(tree, byKind);
  const boxOf = new Map<NodeKey, number>();
  for (const [id, { lines }] of all.entries()) {
    for (const { key } of lines) if (key !== undefined) boxOf.set(key, id);
  }
  const needs = all.map(() => new Set<number>());
  for (const node of plan.target.nodes) {
    const from = boxOf.get(keyOf(node));
    if (from === undefined) continue;
    for (const dependency of dependenciesOf(node)) {
      const to = boxOf.get(dependency);
      if (to !== undefined && to !== from) needs[from]?.add(to);
    }
  }
  return {
    title: `Cluster ${plan.cluster}`,
    boxes: all.map(({ what, name, lines }, id) => ({
      id,
      what,
      name,
      kind: kindOf(lines),
      needs: directNeeds(id, needs),
    })),
  };
}

/** Arrows along which others lead as well would only cross them. */
function directNeeds(id: number, needs: readonly ReadonlySet<number>[]): number[] {
  const own = [...(needs[id] ?? [])];
  const further = reachable(
    own.flatMap((need) => [...(needs[need] ?? [])]),
    needs,
  );
  // Boxes of several machines may need each other: then nothing is left out.
  return further.has(id) ? own : own.filter((need) => !further.has(need));
}

function reachable(from: readonly number[], needs: readonly ReadonlySet<number>[]): Set<number> {
  const found = new Set(from);
  for (const id of found) for (const next of needs[id] ?? []) found.add(next);
  return found;
}

type Group = (lines: readonly ChangeLine[], parent: ChangeLine) => Grouping[];

function groupings({ line, children }: ChangeNode, group: Group): Grouping[] {
  const leaves = children.filter((child) => child.line.kind !== "group");
  const inside = children.filter((child) => child.line.kind === "group");
  return [
    ...group(
      leaves.map((leaf) => leaf.line),
      line,
    ),
    ...inside.flatMap((child) => groupings(child, group)),
  ];
}

const byDetail: Group = (lines) =>
  groupAlike(lines).map((entry) =>
    entry.kind === "single"
      ? single(entry.line)
      : { what: "Machines", name: alikeNames(entry.lines), lines: entry.lines },
  );

function single(line: ChangeLine): Grouping {
  if (isMachineLine(line)) return { what: "Machine", name: machineName(line), lines: [line] };
  const what = line.key?.split("/")[0] ?? "";
  return { what, name: line.label, lines: [line] };
}

/** Machines of one parent that have the same kind of change, whatever it is in particular. */
const byKind: Group = (lines, parent) => {
  const groups = new Map<ChangeLine["kind"], ChangeLine[]>();
  for (const line of lines.filter(isMachineLine)) {
    const group = groups.get(line.kind);
    if (group === undefined) groups.set(line.kind, [line]);
    else group.push(line);
  }
  return [
    ...lines.filter((line) => !isMachineLine(line)).map(single),
    ...[...groups.values()].map((group) => {
      const [first, ...others] = group;
      if (first !== undefined && others.length === 0) return single(first);
      const number = withThousands(group.length);
      const name = `${number} ${adjectives[kindOf(group)]} machines`;
      return { what: parent.label, name, lines: group };
    }),
  ];
};

const adjectives: Readonly<Record<ChangeKind, string>> = {
  same: "unchanged",
  external: "external",
  move: "moved",
  create: "new",
  adopt: "adopted",
  import: "imported",
  update: "changed",
  replace: "replaced",
  forget: "forgotten",
  delete: "deleted",
};

function kindOf(lines: readonly ChangeLine[]): ChangeKind {
  const kind = lines[0]?.kind ?? "same";
  return kind === "group" ? "same" : kind;
}
