import { CapstanError } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { keyOf, resolveRefs } from "../graph/graph.js";
import type { PlannedResource, PlannedStep, PreflightFinding } from "../provider/port.js";
import { cloudResources, type PriorState, recordedSpec } from "../records/prior-state.js";
import { recordedOutputs } from "../records/recorded-outputs.js";
import type { Plan } from "./plan.js";
import { isLettingGo } from "./step.js";

/** What a plan makes, changes and deletes in the cloud, in its order, for its provider to look at beforehand. Pure. */
export function plannedSteps({ steps, target }: Plan, prior: PriorState): PlannedStep[] {
  const nodes = new Map(target.nodes.map((node) => [keyOf(node), node]));
  const records = new Map(cloudResources(prior).map((record) => [record.key, record]));
  const outputOf = recordedOutputs(prior);
  return steps.flatMap((step): PlannedStep[] => {
    if (step.kind === "adopt" || step.kind === "import" || isLettingGo(step)) return [];
    const node = nodes.get(step.key);
    const record = records.get(step.key);
    const known = node ?? record;
    if (known === undefined) return [];
    const { kind, name } = known;
    return [
      omitUndefined({
        does: step.kind,
        kind,
        name,
        current: record && { id: record.id ?? "", spec: recordedSpec(record) },
        wanted: node && step.kind !== "delete" ? resolveRefs(node.spec, outputOf) : undefined,
      }),
    ];
  });
}

/** Every cloud resource of a plan's target, in its order. Pure. */
export function plannedResources({ target }: Plan, prior: PriorState): PlannedResource[] {
  const records = new Map(cloudResources(prior).map((record) => [record.key, record]));
  const outputOf = recordedOutputs(prior);
  return target.nodes.flatMap((node): PlannedResource[] => {
    if (node.type !== "resource") return [];
    const { kind, name } = node;
    const { id } = records.get(keyOf(node)) ?? {};
    return [omitUndefined({ kind, name, id, spec: resolveRefs(node.spec, outputOf) })];
  });
}

/** What keeps a plan from being carried out: all findings that are no warnings, with the code of the first. Pure. */
export function foreseenFailure({
  cluster,
  foreseen = [],
}: Pick<Plan, "cluster" | "foreseen">): CapstanError | undefined {
  const refusals = foreseen.filter(isRefusal);
  const [first] = refusals;
  if (first === undefined) return undefined;
  const hints = [...new Set(refusals.flatMap(({ hint }) => hint ?? []))];
  return new CapstanError({
    code: first.code,
    source: "cloud",
    subject: cluster,
    message: refusals.map(({ message }) => `cannot change ${cluster}: ${message}`).join("\n"),
    hint: [...hints, "nothing was changed"].join("; "),
  });
}

export function isRefusal({ severity }: PreflightFinding): boolean {
  return severity !== "warning";
}
