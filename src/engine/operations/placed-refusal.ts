import type { Desired } from "../../api/types.js";
import type { Manifests } from "../../manifest/desired.js";
import { placeText } from "../../manifest/diagnostic.js";
import { type RefusedRemoval, RefusedRemovals } from "../../plan/refusals/protection.js";
import { type Refusal, RefusedChange } from "../../plan/refused-change.js";
import { owningObjects } from "../../sets/owning-objects.js";

/**
 * What `plan` gives. Changes that it refuses are told with the place at which manifests ask for them, as
 * far as that is known. Throws RefusedChange, RefusedRemovals, and whatever else `plan` throws.
 */
export function withPlaces<T>(
  desired: Desired,
  positionOf: Manifests["positionOf"],
  plan: () => T,
): T {
  try {
    return plan();
  } catch (error) {
    if (error instanceof RefusedRemovals) {
      throw new RefusedRemovals(error.refusals, error.remedy, mendingPlaces(desired, positionOf));
    }
    if (!(error instanceof RefusedChange)) throw error;
    const placeOf = placesIn(desired, positionOf);
    throw new RefusedChange(error.refusals, error.remedy, placeOf, error.verb);
  }
}

/** What asks for fewer machines, or else the Cluster: what is gone stands nowhere. */
function mendingPlaces(
  { cluster }: Desired,
  positionOf: Manifests["positionOf"],
): (refusal: RefusedRemoval) => string | undefined {
  return (refusal) => {
    const object = refusal.kind === "controlPlane" ? refusal.object : undefined;
    const position =
      object === undefined
        ? positionOf(cluster, ["metadata", "name"])
        : positionOf(object, object.kind === "Machine" ? ["spec"] : ["spec", "replicas"]);
    return position && placeText(position);
  };
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
    return position && placeText(position);
  };
}
