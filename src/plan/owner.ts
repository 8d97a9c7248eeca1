import type { MachineDeploymentObject, MachineSetObject } from "../api/types.js";
import type { NodeKey } from "../graph/graph.js";
import type { Target, TargetMachine } from "./target.js";

// What the sets of a target say about their machines' hosts. Pure.

/** minReadySeconds of each host whose set has any, in milliseconds. */
export function minReadyMsOf(target: Target): Map<NodeKey, number> {
  const waits = target.machines.flatMap((machine): [NodeKey, number][] => {
    const seconds = setAbove(machine, target)?.spec.minReadySeconds ?? 0;
    return seconds > 0 ? [[machine.host, seconds * 1_000]] : [];
  });
  return new Map(waits);
}

/** progressDeadlineSeconds of each host of a MachineDeployment; 0 of a deployment means none. */
export function progressDeadlinesOf(
  target: Target,
): Map<NodeKey, { readonly deployment: string; readonly seconds: number }> {
  const deadlines = target.machines.flatMap((machine) => {
    const above = setAbove(machine, target);
    if (above?.kind !== "MachineDeployment" || above.spec.progressDeadlineSeconds === 0) return [];
    const { progressDeadlineSeconds: seconds } = above.spec;
    return [[machine.host, { deployment: above.metadata.name, seconds }] as const];
  });
  return new Map(deadlines);
}

/** The object that a user wrote for a machine: its MachineDeployment, or its MachineSet. */
function setAbove(
  { owner }: TargetMachine,
  { objects }: Target,
): MachineDeploymentObject | MachineSetObject | undefined {
  if (owner === undefined) return undefined;
  const { machineDeployment, machineSet } = owner;
  return objects.find((object): object is MachineDeploymentObject | MachineSetObject =>
    machineDeployment === undefined
      ? object.kind === "MachineSet" && object.metadata.name === machineSet
      : object.kind === "MachineDeployment" && object.metadata.name === machineDeployment,
  );
}
