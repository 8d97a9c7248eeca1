import type { Plan } from "../../plan/plan.js";
import { type EtcdQuestion, withEtcdWarning } from "./etcd-warning.js";
import { withPreflight } from "./preflight.js";

/**
 * The plan with all that is foreseen to stand in its way, whichever verb it is of: what its provider finds, and what its run would wait
 * for before it touches the control plane. Throws nothing but an interruption.
 */
export async function withFindings(plan: Plan, question: EtcdQuestion): Promise<Plan> {
  const { provider, records: prior, context } = question;
  const checked = await withPreflight(plan, { provider, prior, context });
  return withEtcdWarning(checked, question);
}
