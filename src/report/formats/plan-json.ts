import { omitUndefined } from "../../api/omit-undefined.js";
import { passedText } from "../../plan/undo/point-of-no-return.js";
import { shownSpec } from "../../graph/graph.js";
import type { PassedPoint } from "../../records/transaction.js";
import { reasonText, type Plan, type StageNote } from "../../plan/plan.js";
import { planSummary } from "../../plan/changes/tree.js";
import { leftoverDocument } from "../../plan/leftovers.js";
import { undoText } from "../../plan/undo/undo-text.js";
import { type ClusterPlanDocument, type PlanDocument, planSchemaVersion } from "../plan-schema.js";
import { countChanges, hasChanges, type PlanReport, sumOfCounts } from "../report.js";

/**
 * The plan of one cluster for machines: everything that is decided, without the objects it was made
 * from. `resources` is what there will be, with Refs ({"$ref", "output"}) for what is not known yet.
 * Pure.
 */
export function clusterDocument(plan: Plan): ClusterPlanDocument {
  const { target, transaction } = plan;
  const { number, clusterUid, direction, goal } = transaction;
  return omitUndefined({
    ...pick(plan, ["cluster", "stack", "provider", "fromRevision", "empty"]),
    resumes: plan.open !== undefined,
    transaction: { number, clusterUid, direction, goal: goal.kind },
    open: plan.open && { ...plan.open, goal: plan.open.goal.kind },
    stage: plan.stage && stageDocument(plan.stage),
    summary: planSummary(plan),
    undoSummary: undoText(plan),
    counts: countChanges(plan),
    infrastructure: plan.infrastructure.map(withReason) as ClusterPlanDocument["infrastructure"],
    machines: plan.machines.map(withReason) as ClusterPlanDocument["machines"],
    steps: [...plan.steps] as ClusterPlanDocument["steps"],
    undo: [...plan.undo],
    waves: plan.waves.map(({ keys, reason }) => ({ keys: [...keys], reason })),
    crossings: [...plan.pointsOfNoReturn],
    crossed: plan.passed.map(passedDocument),
    leaving: plan.leaving.map((one) => pick(one, ["host", "machine", "controlPlane", "failed"])),
    stale: [...plan.stale],
    abandoned: plan.orphaned.map((one) => ({ ...one })),
    strangers: [...plan.unrecorded],
    tolerated: plan.ignoredDrift === undefined ? undefined : [...plan.ignoredDrift],
    held: plan.held,
    foreseen: plan.foreseen === undefined ? undefined : [...plan.foreseen],
    lookedUp: plan.lookedUp?.map((one) => ({
      ...one,
      by: [...one.by],
      question: { ...one.question },
    })),
    leftovers: plan.leftovers?.map(leftoverDocument),
    targetDigest: plan.targetDigest,
    resources: target.nodes
      .filter(({ type }) => type === "resource")
      .map((node) => ({ kind: node.kind, name: node.name, spec: shownSpec(node) })),
  });
}

function passedDocument(one: PassedPoint): ClusterPlanDocument["crossed"][number] {
  const reason = passedText(one);
  if (one.kind !== "version") return { reason };
  const { machine, host, version } = one;
  return { reason, machine, host, version };
}

function stageDocument(stage: StageNote): NonNullable<ClusterPlanDocument["stage"]> {
  const { number, count, reason, later } = stage;
  return {
    number,
    count,
    reason,
    later: later.map(({ reason: why, changes }) => ({
      reason: why,
      changes: changes.map(({ unit, from, to }) => ({ unit, from: { ...from }, to: { ...to } })),
    })),
  };
}

/** One run's plans as one document, as docs/schemas/plan-v1.schema.json describes it. Pure. */
export function planDocument(report: PlanReport): PlanDocument {
  return {
    schemaVersion: planSchemaVersion,
    kind: "Plan",
    release: report.release,
    changesPending: hasChanges(report),
    counts: sumOfCounts(report.plans.map(countChanges)),
    clusters: report.plans.map(clusterDocument),
    destroyed: report.destroyed.map(({ stack, cluster }) => ({ stack, cluster })),
  };
}

function pick<T, K extends keyof T>(whole: T, keys: readonly K[]): Pick<T, K> {
  return Object.fromEntries(keys.map((key) => [key, whole[key]])) as Pick<T, K>;
}

/** Its reasons in one text. */
function withReason<Change extends { readonly reasons: readonly string[] }>({
  reasons,
  ...change
}: Change) {
  return { ...change, reason: reasonText(reasons) };
}
