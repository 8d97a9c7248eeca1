import type { NodeKey } from "../../graph/graph.js";
import { owningObjects } from "../../sets/owning-objects.js";
import type { Target } from "../../records/target.js";

// What the sets of a target say about their machines' hosts. Pure.

/** minReadySeconds of each host whose set has any, in milliseconds. */
export function minReadyMsOf(target: Target): Map<NodeKey, number> {
  const ownerOf = owningObjects(target.objects);
  const waits = target.machines.flatMap((machine): [NodeKey, number][] => {
    const above = ownerOf(machine);
    const seconds =
      above === undefined || above.kind === "Machine" ? 0 : above.spec.minReadySeconds;
    return seconds > 0 ? [[machine.host, seconds * 1_000]] : [];
  });
  return new Map(waits);
}

/** progressDeadlineSeconds of each host of a MachineDeployment; 0 of a deployment means none. */
export function progressDeadlinesOf(
  target: Target,
): Map<NodeKey, { readonly deployment: string; readonly seconds: number }> {
  const ownerOf = owningObjects(target.objects);
  const deadlines = target.machines.flatMap((machine) => {
    const above = ownerOf(machine);
    if (above?.kind !== "MachineDeployment" || above.spec.progressDeadlineSeconds === 0) return [];
    const { progressDeadlineSeconds: seconds } = above.spec;
    return [[machine.host, { deployment: above.metadata.name, seconds }] as const];
  });
  return new Map(deadlines);
}
