import type { ManifestObject, ChaosTarget } from "./targets.js";

/** Where a command may end. */
export type Place =
  | {
      readonly kind: "manifests";
      readonly name: PlaceName;
      readonly objects: readonly ManifestObject[];
    }
  | { readonly kind: "nothing" }
  /** The cloud holds what it held when the point began, and it is recorded, or nothing is. */
  | { readonly kind: "found" }
  /** A transaction stays open, and the command says so: there is only forward. */
  | { readonly kind: "open" };

export type PlaceName = "target" | "previous" | "third" | "revision";

/** Manifests under a name; nothing for those of what is to be gone. */
export function placeOf(name: PlaceName, objects: ChaosTarget): Place {
  return objects === undefined ? { kind: "nothing" } : { kind: "manifests", name, objects };
}

/** "previous", "nothing", "found", "open", or "neither" where a run ended nowhere. */
export function placeText(place: Place | undefined): string {
  if (place === undefined) return "neither";
  return place.kind === "manifests" ? place.name : place.kind;
}
