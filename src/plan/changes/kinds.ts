import { nodeKind } from "../../graph/graph.js";
import { inNameOrder } from "../../sets/name-order.js";
import type { Plan } from "../plan.js";
import { isLettingGo, type Step } from "../step.js";

/** A plan with no more changes than these is counted at a glance. */
const fewChanges = 10;

type Counted = Pick<Plan, "steps" | "orphaned">;

/**
 * What a plan of many resources does, counted by kind, a line for each deed: "create: 6 AwsSubnet, 3 AwsNatGateway"; the most
 * frequent kinds first. Empty of a small plan, and of one of a single kind. Pure.
 */
export function kindLines({ steps, orphaned }: Counted): string[] {
  if (steps.length + orphaned.length <= fewChanges) return [];
  const deeds = new Map<string, string[]>();
  const note = (deed: string, kind: string) =>
    void deeds.set(deed, [...(deeds.get(deed) ?? []), kind]);
  for (const step of steps) note(deedOf(step), nodeKind(step.key));
  for (const { who, letGo } of orphaned) note(letGo === true ? "forget" : "delete", who.kind);
  if ([...deeds.values()].every((kinds) => new Set(kinds).size < 2)) return [];
  return [...deeds].map(([deed, kinds]) => `${deed}: ${countsOf(kinds)}`);
}

function deedOf(step: Step): string {
  if (isLettingGo(step)) return "forget";
  return step.kind === "update" ? "update in place" : step.kind;
}

function countsOf(kinds: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts]
    .sort(([one, few], [other, many]) => many - few || inNameOrder(one, other))
    .map(([kind, count]) => `${count} ${kind}`)
    .join(", ");
}
