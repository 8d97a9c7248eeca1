import { providerValue } from "../../api/types.js";
import { joiningTerms } from "../../provider/joining-terms.js";
import type { PreflightFinding } from "../../provider/port.js";
import { isOpen } from "../../records/prior-state.js";
import { lostKeysHint } from "../../records/recorded-keys.js";
import { clusterIn, keepsControlPlane } from "../../records/target.js";
import type { PlanInput } from "../plan-input.js";
import type { RemainingPlan } from "../plan.js";

/**
 * What the hosts of a plan need that nobody has: who joins is signed for with the keys of its cluster, and a member of the
 * control plane takes leave of the others with them. A cluster that was adopted has none unless somebody gives them. What is
 * begun or owed comes to an end all the same. Pure.
 */
export function keylessFindings(
  { prior, provider, givesKeys }: PlanInput,
  plan: RemainingPlan,
): PreflightFinding[] {
  const last = prior.transaction;
  if (last === undefined || isOpen(prior) || plan.transaction.number === last.number) return [];
  if (last.keys !== undefined || givesKeys === true) return [];
  const clusterSpec = providerValue(clusterIn(plan.target).spec);
  if (joiningTerms(provider, clusterSpec) === undefined) return [];
  const machines = machinesInNeed(plan);
  if (machines.length === 0) return [];
  const message = `the state of ${plan.cluster} holds no keys to make or take away hosts with: Machine ${machines.join(", ")}`;
  return [{ code: "NOT_FOUND", message, hint: lostKeysHint }];
}

function machinesInNeed({ steps, machines, target }: RemainingPlan): string[] {
  const made = new Set(steps.flatMap((step) => (step.kind === "create" ? [step.key] : [])));
  return machines
    .filter(({ host, kind, controlPlane }) =>
      kind === "delete"
        ? controlPlane && keepsControlPlane(target)
        : host !== undefined && made.has(host),
    )
    .map(({ machine }) => machine);
}
