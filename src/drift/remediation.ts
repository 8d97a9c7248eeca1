import { boundOf, type DriftPolicy } from "../api/drift-policy.js";
import type { policiesOf } from "../compile/update-policy.js";
import { isMajority } from "../sets/quorum.js";
import type { DriftBudgets } from "./budgets.js";
import type { DriftItem, DriftReport } from "./classify.js";
import type { DriftDecision, ReportCause, RestraintCause } from "./decision.js";

type UnhealthyItem = Extract<DriftItem, { class: "unhealthy" }>;
type ExpiringItem = Extract<DriftItem, { class: "expiring" }>;

/** What decides whether a host gets another one in its place. */
interface ReplacementTerms {
  readonly policy: Exclude<DriftPolicy, "ignore">;
  readonly updatePolicyOf: ReturnType<typeof policiesOf>;
  readonly report: DriftReport;
}

/**
 * What becomes of a host whose machine is unhealthy: another one takes its place, unless that is more than its check, its policies,
 * the drift budget of the cluster, or etcd allows. Pure.
 */
export function remediationOf(
  item: UnhealthyItem,
  { budgets, ...terms }: ReplacementTerms & { readonly budgets: DriftBudgets },
): DriftDecision {
  return replacedUnless(ruledOut(item, terms) ?? restraintOn(item, terms.report, budgets));
}

/**
 * What becomes of a host whose certificates expire soon: another one takes its place, unless its policies, the drift budget of the cluster
 * or etcd do not allow it. Pure.
 */
export function renewalOf(item: ExpiringItem, terms: ReplacementTerms): DriftDecision {
  return replacedUnless(ruledOut(item, terms) ?? memberRestraint(terms.report));
}

function replacedUnless(because: ReportCause | undefined): DriftDecision {
  return because === undefined ? { kind: "correct", how: "replace" } : { kind: "report", because };
}

/** What policies have against a new host. */
function ruledOut(
  { machine }: UnhealthyItem | ExpiringItem,
  { policy, updatePolicyOf }: ReplacementTerms,
): ReportCause | undefined {
  if (policy === "report" || machine === undefined) return { kind: "policy" };
  if (updatePolicyOf(machine) !== "inPlaceOnly") return undefined;
  return { kind: "unsupported", reason: "update policy inPlaceOnly rules a new host out" };
}

/** What many machines have at once may have another cause than their hosts, which new hosts would have as well. */
function restraintOn(
  { machine, ailment }: UnhealthyItem,
  report: DriftReport,
  { maxUnhealthy }: DriftBudgets,
): RestraintCause | undefined {
  const { check } = ailment;
  const own = report.health?.checks.find((one) => one.check === check);
  if (own?.isAllowed === false) {
    const { expected: machines, healthy } = own;
    return { kind: "check", check, unhealthy: machines - healthy, machines };
  }
  const machines = report.members + report.workers;
  const trouble = troubledMachines(report);
  const allowed = boundOf(maxUnhealthy, machines);
  if (trouble.size > allowed) {
    return { kind: "tooManyUnhealthy", unhealthy: trouble.size, machines, allowed };
  }
  return machine?.controlPlane === true ? memberRestraint(report) : undefined;
}

/** Why no member of the control plane is replaced by itself: too few are well for etcd's majority. Pure. */
function memberRestraint(report: DriftReport): RestraintCause | undefined {
  const { members } = report;
  const healthy = members - [...troubledMachines(report).values()].filter(Boolean).length;
  return isMajority(healthy, members) ? undefined : { kind: "quorum", healthy, members };
}

/** Machines that are not well, for however long and by whose word ever, and whether they are members of the control plane. */
function troubledMachines({ items, health }: DriftReport): ReadonlyMap<string, boolean> {
  const ailing = (health?.ailing ?? []).map(
    ({ name, controlPlane }) => [name, controlPlane] as const,
  );
  const lost = items.flatMap(({ class: found, machine }) =>
    machine !== undefined && lostClasses.some((one) => one === found)
      ? [[machine.name, machine.controlPlane] as const]
      : [],
  );
  return new Map([...ailing, ...lost]);
}

const lostClasses = ["missing", "failed", "stopped", "unhealthy", "leaving"] as const;
