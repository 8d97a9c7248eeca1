import type { Desired } from "../api/types.js";
import type { Manifests } from "../manifest/desired.js";
import { type Refusal, RefusedChange } from "../plan/refused-change.js";
import { owningObjects } from "../sets/owning-objects.js";

/**
 * What `plan` gives. Changes that it refuses are told with the place at which manifests ask for them, as
 * far as that is known. Throws RefusedChange, and whatever else `plan` throws.
 */
export function withPlaces<T>(
  desired: Desired,
  positionOf: Manifests["positionOf"],
  plan: () => T,
): T {
  try {
    return plan();
  } catch (error) {
    if (!(error instanceof RefusedChange)) throw error;
    const placeOf = placesIn(desired, positionOf);
    throw new RefusedChange(error.refusals, error.remedy, placeOf);
  }
}

function placesIn(
  { cluster, machines, machineSets, machineDeployments }: Desired,
  positionOf: Manifests["positionOf"],
): (refusal: Refusal) => string | undefined {
  const ownerOf = owningObjects([...machines, ...machineSets, ...machineDeployments]);
  return ({ machine, member = [] }) => {
    const object = machine === undefined ? cluster : ownerOf(machine);
    if (object === undefined) return undefined;
    const inTemplate = object.kind === "MachineSet" || object.kind === "MachineDeployment";
    const path = machine === undefined ? ["spec", "providerSpec"] : ["spec", ...member];
    const position = positionOf(
      object,
      inTemplate ? ["spec", "template", "spec", ...member] : path,
    );
    if (position === undefined) return undefined;
    const { file, line, column } = position;
    return `${file}:${line}:${column}`;
  };
}
