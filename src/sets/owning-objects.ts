import type {
  AnyObject,
  MachineDeploymentObject,
  MachineObject,
  MachineSetObject,
} from "../api/types.js";
import type { ExpandedMachine, MachineOwner } from "./expanded.js";

/** What a user wrote that a machine comes from. */
export type OwningObject = MachineObject | MachineSetObject | MachineDeploymentObject;

/** Finds what a user wrote for a machine; undefined for one that these objects do not want. */
type OwnerLookup = (machine: Pick<ExpandedMachine, "name" | "owner">) => OwningObject | undefined;

/**
 * For each machine of some objects the Machine, or the MachineDeployment above its set, or else its
 * MachineSet. Indexes the objects once, so make it once for all machines. Pure.
 */
export function owningObjects(objects: readonly AnyObject[]): OwnerLookup {
  const known = new Map<string, OwningObject>();
  for (const object of objects) {
    if (!isOwning(object)) continue;
    known.set(`${object.kind} ${object.metadata.name}`, object);
  }
  return ({ name, owner }) => {
    if (owner === undefined) return known.get(`Machine ${name}`);
    const { machineSet, machineDeployment } = owner;
    return machineDeployment === undefined
      ? known.get(`MachineSet ${machineSet}`)
      : known.get(`MachineDeployment ${machineDeployment}`);
  };
}

/** Whether machines come from an object of its kind. Pure. */
export function isOwning(object: AnyObject): object is OwningObject {
  const { kind } = object;
  return kind === "Machine" || kind === "MachineSet" || kind === "MachineDeployment";
}

/** "MachineDeployment web": the object that a user wrote. Pure. */
export function ownerText({ machineSet, machineDeployment }: MachineOwner): string {
  return machineDeployment === undefined
    ? `MachineSet ${machineSet}`
    : `MachineDeployment ${machineDeployment}`;
}
