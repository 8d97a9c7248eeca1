import { providerValue } from "../../api/types.js";
import type { NodeKey } from "../../graph/graph.js";
import { joiningTerms } from "../../provider/joining-terms.js";
import type { PreflightFinding } from "../../provider/port.js";
import { hostMachines } from "../../records/host-machine.js";
import { isOpen, type PriorState } from "../../records/prior-state.js";
import { lostKeysHint } from "../../records/recorded-keys.js";
import { clusterIn, keepsControlPlane } from "../../records/target.js";
import { deletionTermsOf } from "../../workload/drain/deletion-terms.js";
import type { PlanInput } from "../plan-input.js";
import type { RemainingPlan } from "../plan.js";

/**
 * What the hosts of a plan need that nobody has: who joins is signed for with the keys of its cluster, a member of the control
 * plane takes leave of the others with them, and pods are asked with them to move away. A cluster that was adopted has none unless
 * somebody gives them. What is begun or owed comes to an end all the same. Pure.
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
  const machines = machinesInNeed(plan, prior);
  if (machines.length === 0) return [];
  const message = `the state of ${plan.cluster} holds no keys to make or take away hosts with: Machine ${machines.join(", ")}`;
  return [{ code: "NOT_FOUND", message, hint: lostKeysHint }];
}

function machinesInNeed(plan: RemainingPlan, prior: PriorState): string[] {
  const { steps, machines, target } = plan;
  const keeps = keepsControlPlane(target);
  const made = new Set(steps.flatMap((step) => (step.kind === "create" ? [step.key] : [])));
  const losesPods = keeps ? drainedMachines(plan, prior) : new Set();
  return machines
    .filter(({ machine, host, kind, controlPlane }) => {
      const joins = host !== undefined && made.has(host);
      return joins || losesPods.has(machine) || (kind === "delete" && controlPlane && keeps);
    })
    .map(({ machine }) => machine);
}

/** The machines from whose hosts pods are to move away, before those go or are disturbed. */
function drainedMachines(
  { leaving, machines, target, transaction: { letGo, heldAs } }: RemainingPlan,
  prior: PriorState,
): ReadonlySet<string> {
  const machineOf = hostMachines(target, prior, { heldAs });
  const drains = (host: NodeKey) => deletionTermsOf(machineOf(host)?.annotations).drains;
  const going = leaving.filter(
    ({ host, failed }) => !failed && letGo?.includes(host) !== true && drains(host),
  );
  const disturbed = machines.filter(
    (one) => one.drains === true && one.host !== undefined && drains(one.host),
  );
  return new Set([...going, ...disturbed].map(({ machine }) => machine));
}
