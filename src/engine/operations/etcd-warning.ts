import type { Observation } from "../../plan/observation.js";
import type { Plan } from "../../plan/plan.js";
import { foreseenEtcdHold } from "../../plan/waves/list-waves.js";
import type { PreflightFinding } from "../../provider/port.js";
import { touchesMembers } from "../run/member-care.js";
import type { Looked, NodeReports } from "../run/node-reports.js";

interface EtcdQuestion extends Looked {
  /** What the plan was made from. */
  readonly observation: Observation;
  readonly reports: Pick<NodeReports, "etcdOf">;
}

/**
 * The plan with what its run would wait for before it touches the control plane, in the words of that wait. Etcd is asked where the
 * plan touches members, unless the look has asked it. Throws nothing but an interruption.
 */
export async function withEtcdWarning(
  plan: Plan,
  { observation, reports, ...looked }: EtcdQuestion,
): Promise<Plan> {
  if (!touchesMembers(plan, looked.records, looked.provider.hostKind)) return plan;
  const asked = { ...looked, asksEtcd: true };
  const etcd = observation.etcd ?? (await reports.etcdOf(observation, asked))?.health;
  const message = etcd && foreseenEtcdHold(plan, etcd);
  if (message === undefined) return plan;
  const finding: PreflightFinding = { code: "DEADLINE", message, severity: "warning" };
  return { ...plan, foreseen: [...(plan.foreseen ?? []), finding] };
}
