import { isCapstanError, messageOf } from "../../api/error.js";
import { providerValue } from "../../api/types.js";
import { plannedResources, plannedSteps } from "../../plan/foreseen.js";
import type { Plan } from "../../plan/plan.js";
import type { CallContext, InfrastructureProvider, PreflightFinding } from "../../provider/port.js";
import { isOpen, type PriorState } from "../../records/prior-state.js";
import { clusterIn } from "../../records/target.js";
import { reading } from "../run/observe.js";

interface Preflight {
  readonly provider: InfrastructureProvider;
  readonly prior: PriorState;
  readonly context: CallContext;
}

/**
 * The plan with what its provider finds to stand against it. Nothing is asked about a plan that changes nothing, and
 * while something is begun or owed: that has to come to an end, whatever it takes. Throws what an interruption
 * throws, and nothing else.
 */
export async function withPreflight(plan: Plan, preflight: Preflight): Promise<Plan> {
  const steps = plannedSteps(plan, preflight.prior);
  const { number } = plan.transaction;
  const goesOn = isOpen(preflight.prior) || number === preflight.prior.transaction?.number;
  if (steps.length === 0 || goesOn || preflight.provider.preflight === undefined) return plan;
  const found = await findingsOn(plan, steps, preflight);
  return found.length === 0 ? plan : { ...plan, foreseen: [...(plan.foreseen ?? []), ...found] };
}

async function findingsOn(
  plan: Plan,
  steps: ReturnType<typeof plannedSteps>,
  { provider, context, prior }: Preflight,
): Promise<readonly PreflightFinding[]> {
  const clusterSpec = providerValue(clusterIn(plan.target).spec);
  const planned = plannedResources(plan, prior);
  const ask = async () => (await provider.preflight?.(context, steps, clusterSpec, planned)) ?? [];
  try {
    return await reading(context, ask);
  } catch (error) {
    context.signal.throwIfAborted();
    const code = isCapstanError(error) ? error.code : "CLOUD_FAILED";
    const message = `the cloud could not be asked beforehand: ${messageOf(error)}`;
    return [{ code, message, severity: "warning" }];
  }
}
