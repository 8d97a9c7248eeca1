import type { Json } from "../api/json.js";
import { isRef, keyOf, type NodeKey, shownSpec } from "../graph/graph.js";
import type { ChangeKind, Plan } from "../plan/plan.js";
import { shownValue } from "../plan/changes/tree.js";
import { nameRanges, rangesText, withThousands } from "./alike.js";

/** What one new resource, or several alike, are made with. */
interface CreatedInputs {
  /** "LocalNetwork network", "Machines web-0 … web-9 (10)". */
  readonly label: string;
  /** How many resources. */
  readonly size: number;
  readonly inputs: readonly { readonly path: string; readonly value: string }[];
}

/** A resource that is made, and what people call it. */
interface Created {
  readonly kind: string;
  readonly name: string;
  readonly key: NodeKey;
}

/**
 * All inputs of every resource that a plan makes, those with the same ones together, in the plan's order. What
 * others will only tell when they are there is named by them. Pure.
 */
export function createdInputs(plan: Plan): CreatedInputs[] {
  const specs = new Map(plan.target.nodes.map((node) => [keyOf(node), shownSpec(node)]));
  const groups = new Map<string, Created[]>();
  for (const one of createdIn(plan)) {
    const alike = JSON.stringify([one.kind, specs.get(one.key) ?? {}]);
    const group = groups.get(alike);
    if (group === undefined) groups.set(alike, [one]);
    else group.push(one);
  }
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const inputs = Object.entries(specs.get(first.key) ?? {});
    return [
      {
        label: labelOf(group, first),
        size: group.length,
        inputs: inputs.map(([path, value]) => ({ path, value: inputText(path, value) })),
      },
    ];
  });
}

function createdIn({ infrastructure, machines }: Plan): Created[] {
  const isMade = (kind: ChangeKind) => kind === "create" || kind === "replace";
  const shared = infrastructure.flatMap(({ key, kind }): Created[] => {
    const [resource = "", name = key] = key.split("/");
    return isMade(kind) ? [{ kind: resource, name, key }] : [];
  });
  const hosts = machines.flatMap(({ machine, kind, host }): Created[] =>
    isMade(kind) && host !== undefined ? [{ kind: "Machine", name: machine, key: host }] : [],
  );
  return [...shared, ...hosts];
}

function labelOf(group: readonly Created[], { kind, name }: Created): string {
  if (group.length === 1) return `${kind} ${name}`;
  const names = rangesText(nameRanges(group.map((one) => one.name)));
  return `${kind}s ${names} (${withThousands(group.length)})`;
}

/** "id of LocalNetwork/network" for what is known once that is there. */
function inputText(path: string, value: Json): string {
  return isRef(value) ? `${value.output} of ${value.$ref}` : shownValue(value, path);
}
