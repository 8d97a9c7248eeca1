import { keyOf, nodeKey, type NodeKey } from "../../graph/graph.js";
import { isLost } from "../../provider/failure.js";
import { isOpen, pendingDeletions } from "../../records/prior-state.js";
import { hostKeysInName } from "../../records/host-name.js";
import type { PlanInput } from "../plan-input.js";
import type { OrphanedResource } from "../plan.js";

/**
 * Resources that the last revision made and that live without a record, as `pulumi state delete` leaves them. No apply that
 * broke off left them: they get their records back before they are replaced or deleted like any other. A resource that
 * lived with a host that is gone is none of them, and during a destroy everything goes. Pure.
 */
export function withLostRecords(
  orphaned: readonly OrphanedResource[],
  input: Pick<PlanInput, "goal" | "prior" | "unrecorded" | "observedResources" | "provider">,
): OrphanedResource[] {
  const { goal, prior, provider } = input;
  const { transaction } = prior;
  if (goal.kind === "destroy" || transaction === undefined || isOpen(prior)) return [];
  const committed = new Set(transaction.target.nodes.map(keyOf));
  const living = livingKeys(input);
  const condemned = new Set(pendingDeletions(prior).map(({ key }) => key));
  return orphaned.filter(({ who: { kind, name } }) => {
    const hosts = hostKeysInName(name, provider.hostKind);
    const serves = hosts.length === 0 || hosts.some((host) => living.has(host));
    const key = nodeKey(kind, name);
    return committed.has(key) && living.has(key) && serves && !condemned.has(key);
  });
}

/** What runs or is on its way, recorded or not. */
function livingKeys({
  unrecorded,
  observedResources,
}: Pick<PlanInput, "unrecorded" | "observedResources">): ReadonlySet<NodeKey> {
  const recorded = [...observedResources.values()].filter((one) => one !== "gone");
  const living = [...recorded, ...unrecorded].filter((one) => one.phase !== "gone" && !isLost(one));
  return new Set(living.map(({ who }) => keyOf(who)));
}
