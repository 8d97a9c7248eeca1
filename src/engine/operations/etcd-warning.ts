import type { ErrorCode } from "../../api/error.js";
import { renewalDaysOf } from "../../api/certificate-renewal.js";
import type { Observation } from "../../plan/observation.js";
import type { Plan } from "../../plan/plan.js";
import { foreseenEtcdHold } from "../../plan/waves/list-waves.js";
import type { PreflightFinding } from "../../provider/port.js";
import { ailmentsText, type EtcdHealth } from "../../workload/etcd/etcd-health.js";
import { touchesMembers } from "../run/member-care.js";
import type { Looked, NodeReports } from "../run/node-reports.js";

export interface EtcdQuestion extends Looked {
  /** What the plan was made from. */
  readonly observation: Observation;
  readonly reports: Pick<NodeReports, "etcdOf">;
}

/**
 * The plan with what its run would wait for before it touches the control plane, in the words of that wait; and with what keeps
 * certificates from being renewed in time where the Cluster asks for that. Etcd is asked where the plan touches members, unless the look
 * has asked it. Throws nothing but an interruption.
 */
export async function withEtcdWarning(
  plan: Plan,
  { observation, reports, ...looked }: EtcdQuestion,
): Promise<Plan> {
  if (!touchesMembers(plan, looked.records, looked.provider.hostKind)) {
    return warned(plan, "API_SERVER", unseenExpiry(plan, observation.etcd));
  }
  const asked = { ...looked, asksEtcd: true };
  const etcd = observation.etcd ?? (await reports.etcdOf(observation, asked))?.health;
  return warned(plan, "DEADLINE", etcd && foreseenEtcdHold(plan, etcd));
}

/** Nobody is told of certificates that expire where nobody sees them: the last sign of it is silence. */
function unseenExpiry({ target }: Plan, etcd: EtcdHealth | undefined): string | undefined {
  const unknown = etcd?.find((one) => one.state === "unknown");
  if (unknown === undefined || renewalDaysOf(target.objects) === undefined) return undefined;
  return `when certificates of the control plane expire cannot be seen, and none is renewed: ${ailmentsText([unknown])}`;
}

function warned(plan: Plan, code: ErrorCode, message: string | undefined): Plan {
  if (message === undefined) return plan;
  const finding: PreflightFinding = { code, message, severity: "warning" };
  return { ...plan, foreseen: [...(plan.foreseen ?? []), finding] };
}
