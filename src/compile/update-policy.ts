import type { AnyObject } from "../api/types.js";
import {
  type Annotations,
  machineAnnotations,
  nearestPolicy,
  type UpdatePolicy,
} from "../api/update-policy.js";
import { decidingPaths } from "../provider/fields.js";
import { isNodeMark } from "../provider/host-spec.js";
import type { VerdictGiver } from "../provider/alternatives.js";
import type { Verdict } from "../provider/port.js";
import type { ExpandedMachine } from "../sets/expanded.js";
import { owningObjects } from "../sets/owning-objects.js";

/**
 * What a policy makes of a provider's verdict. A change of nothing but labels, annotations and taints
 * of the node is none that a new host is made for. Pure; applied twice it has the effect of once.
 */
export function applyPolicy(policy: UpdatePolicy, verdict: Verdict): Verdict {
  switch (policy) {
    case "preferInPlace":
      return verdict;
    case "inPlaceOnly": {
      if (verdict.kind !== "replace") return verdict;
      const { paths, reason } = verdict;
      const cause = `changing ${decidingPaths(verdict).join(", ")} needs a new host (${reason})`;
      return { kind: "unsupported", paths, reason: `${cause}, which policy inPlaceOnly rules out` };
    }
    case "replaceOnly": {
      if (verdict.kind !== "inPlace" || changesNodeMarks(verdict)) return verdict;
      return { kind: "replace", paths: verdict.paths, reason: "policy replaceOnly asks for it" };
    }
  }
}

/** A provider whose verdicts are those of a policy. Pure. */
export function underPolicy(provider: VerdictGiver, policy: UpdatePolicy): VerdictGiver {
  const { hostKind } = provider;
  return {
    hostKind,
    alternatives: (host) => provider.alternatives?.(host) ?? [],
    verdict: (kind, recorded, wanted) =>
      applyPolicy(policy, provider.verdict(kind, recorded, wanted)),
  };
}

/**
 * The policy of each machine: that of the Machine or of its template, else of the set or deployment that
 * wants it, else of the Cluster. Made once for all machines of some objects. Pure.
 */
export function policiesOf(
  objects: readonly AnyObject[],
): (machine: Pick<ExpandedMachine, "name" | "owner">) => UpdatePolicy {
  const above = annotationsAbove(objects);
  return (machine) => nearestPolicy(above(machine));
}

/**
 * The annotations that speak about each machine, nearest to it first: of the Machine or of its template,
 * of the set or deployment that wants it, of the Cluster. Made once for all machines of some objects. Pure.
 */
export function annotationsAbove(
  objects: readonly AnyObject[],
): (machine: Pick<ExpandedMachine, "name" | "owner">) => Annotations[] {
  const ownerOf = owningObjects(objects);
  const cluster = objects.filter((one) => one.kind === "Cluster").flatMap(machineAnnotations);
  return (machine) => {
    const own = ownerOf(machine);
    return [...(own === undefined ? [] : machineAnnotations(own)), ...cluster];
  };
}

/**
 * The policy in one direction. On the way back, what was changed in place goes back in place whatever is
 * asked of changes; what must not lose its host does not lose it to a rollback either. Pure.
 */
export function policyGoing(direction: "forward" | "back", policy: UpdatePolicy): UpdatePolicy {
  return direction === "forward" || policy === "inPlaceOnly" ? policy : "preferInPlace";
}

/** Whether a change is one in place of nothing but what Capstan keeps on a Node. Pure. */
export function changesNodeMarks(verdict: Verdict): boolean {
  if (verdict.kind !== "inPlace") return false;
  return verdict.paths.every(isNodeMark);
}
