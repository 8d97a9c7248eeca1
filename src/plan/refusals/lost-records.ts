import { CapstanError } from "../../api/error.js";
import { keyOf, nodeKey, type NodeKey } from "../../graph/graph.js";
import { isLost } from "../../provider/failure.js";
import { isOpen, pendingDeletions } from "../../records/prior-state.js";
import { hostKeysInName } from "../../records/host-name.js";
import type { PlanInput } from "../plan-input.js";
import type { RemainingPlan } from "../plan.js";

/**
 * What was committed and lives was not left by an apply that broke off, whoever has taken its record away (`pulumi state delete`):
 * an up that wants it as it is finds it again, and any other change waits until one has. Throws BAD_STATE naming it; a
 * destroy means all of it, and so does what a host has left behind. Pure.
 */
export function refuseLostRecords(
  input: Pick<PlanInput, "goal" | "prior" | "unrecorded" | "observedResources" | "provider">,
  { orphaned }: Pick<RemainingPlan, "orphaned">,
): void {
  const { goal, prior } = input;
  const { transaction } = prior;
  if (goal.kind === "destroy" || transaction === undefined || isOpen(prior)) return;
  const { target, number } = transaction;
  const committed = new Set(target.nodes.map(keyOf));
  const living = livingKeys(input);
  const condemned = new Set(pendingDeletions(prior).map(({ key }) => key));
  const isLost = ({ kind, name }: { readonly kind: string; readonly name: string }) => {
    const hosts = hostKeysInName(name, input.provider.hostKind);
    const serves = hosts.length === 0 || hosts.some((host) => living.has(host));
    const key = nodeKey(kind, name);
    return committed.has(key) && living.has(key) && serves && !condemned.has(key);
  };
  const names = orphaned
    .filter(({ who }) => isLost(who))
    .map(({ id, who }) => `${who.kind} ${who.name} (${id})`);
  if (names.length === 0) return;
  throw new CapstanError({
    code: "BAD_STATE",
    source: "user",
    subject: target.cluster,
    message: `cannot change ${target.cluster}: what revision ${number} has made lives and has no record: ${names.join(", ")}`,
    hint: `capstan up with the manifests of revision ${number} finds it again; what is no longer as they want it has to be deleted by hand before; nothing was changed`,
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
