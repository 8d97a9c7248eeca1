import type { Json } from "../api/json.js";
import { secretText } from "../api/secret-fields.js";
import { isRef } from "../graph/graph.js";
import type { ItemDifference, TargetDifference, ValueDifference } from "../plan/compare/compare.js";
import { nameRanges, rangesText, withThousands } from "./alike.js";

/** A line about a difference: what it is about, and what differs, which may be too long for one line. */
export interface DifferenceLine {
  readonly kind: ItemDifference["kind"];
  readonly head: string;
  readonly detail: string;
}

/** What differs, in sections that are not empty; of machines one line each. Pure. */
export function differenceSections({
  objects,
  machines,
  infrastructure,
}: TargetDifference): { readonly title: string; readonly lines: readonly DifferenceLine[] }[] {
  return [
    { title: "Objects", lines: objects.flatMap((item) => differenceLines(item, "eachValue")) },
    { title: "Machines", lines: machines.flatMap((item) => differenceLines(item, "together")) },
    {
      title: "Infrastructure",
      lines: infrastructure.flatMap((item) => differenceLines(item, "eachValue")),
    },
  ].filter(({ lines }) => lines.length > 0);
}

function differenceLines(
  difference: ItemDifference,
  layout: "eachValue" | "together",
): DifferenceLine[] {
  const { kind, item } = difference;
  switch (difference.kind) {
    case "added":
      return [{ kind, head: `+ ${item}`, detail: "" }];
    case "removed":
      return [{ kind, head: `- ${item}`, detail: "" }];
    case "changed": {
      const values = difference.changes.map(valueText);
      const details = layout === "together" ? [values.join(", ")] : values;
      return details.map((detail) => ({ kind, head: `~ ${item}:`, detail }));
    }
  }
}

/** "spec.replicas 2 -> 4", "spec.taints none -> [...]", "metadata.annotations.note changed: [secret]". */
function valueText(value: ValueDifference): string {
  if (value.kind === "withheld") return `${value.path} ${value.what}: ${secretText}`;
  return `${value.path} ${jsonText(value.from)} -> ${jsonText(value.to)}`;
}

function jsonText(value: Json | undefined): string {
  if (value === undefined) return "none";
  if (isRef(value)) return `${value.output} of ${value.$ref}`;
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}

/** Fewer than these are told one by one. */
const leastAlike = 4;
const machinePrefix = "Machine ";

/** Machines that differ in the same way are told as one; everything else stays by itself. Pure. */
export function withAlikeMachines(difference: TargetDifference): TargetDifference {
  const groups = new Map<string, ItemDifference[]>();
  for (const one of difference.machines) {
    const key = JSON.stringify([one.kind, one.kind === "changed" ? one.changes : []]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  const machines = [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined || group.length < leastAlike) return group;
    const names = group.map(({ item }) => item.slice(machinePrefix.length));
    const item = `Machines ${rangesText(nameRanges(names))} (${withThousands(names.length)})`;
    return [{ ...first, item }];
  });
  return { ...difference, machines };
}
