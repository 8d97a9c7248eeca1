import { selectorMatches } from "../api/label-selector.js";
import type { LabelSelector } from "../api/schema.js";
import type { Profile } from "../api/set-profile.js";

/** A MachineSet as somebody who claims machines. */
interface Claimant {
  readonly uid: string;
  readonly selector: LabelSelector;
}

/** A Machine that a set may claim. */
export interface ClaimableMachine {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly deleting: boolean;
  /** UID of the object that controls it; absent for an orphan. */
  readonly controllerUid?: string;
}

/** What a Machine is to a set. */
type Claim =
  /** It is the set's own. */
  | { readonly kind: "member" }
  /** An orphan that matches: the set becomes its controller, and counts it from now on. */
  | { readonly kind: "adopt" }
  /** The set's own, but its labels do not match any more: left alone, and replaced. */
  | { readonly kind: "orphaned" }
  | { readonly kind: "notCounted"; readonly reason: "deleting" | "controlledByOther" | "noMatch" };

/**
 * What a Machine is to a MachineSet. Neither profile takes the controller reference from a Machine
 * whose labels stop matching; it stays in the cloud and in its owner's care, but counts no longer.
 * Today's Cluster API counts what is being deleted until it is gone, v1alpha1 does not. Pure.
 * Source: docs/cluster-api.md#machinesets.
 */
export function claimOf(set: Claimant, machine: ClaimableMachine, profile: Profile): Claim {
  const { controllerUid, labels, deleting } = machine;
  const matches = selectorMatches(set.selector, labels);
  if (controllerUid !== undefined && controllerUid !== set.uid) {
    return { kind: "notCounted", reason: "controlledByOther" };
  }
  if (!matches) {
    return controllerUid === undefined
      ? { kind: "notCounted", reason: "noMatch" }
      : { kind: "orphaned" };
  }
  if (deleting && profile === "v1alpha1") return { kind: "notCounted", reason: "deleting" };
  return controllerUid === undefined ? { kind: "adopt" } : { kind: "member" };
}
