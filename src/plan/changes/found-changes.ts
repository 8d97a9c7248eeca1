import { type JsonObject, sameJson } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { withoutSecretFields } from "../../api/secret-fields.js";
import { questionsOf } from "../../compile/lookups.js";
import { type ExternalSpec, externalSpecOf, type GraphNode, keyOf } from "../../graph/graph.js";
import type { LookupQuestion } from "../../provider/port.js";
import type { PriorState } from "../../records/prior-state.js";
import { desiredIn, type Target } from "../../records/target.js";
import type { InfrastructureChange, LookupChange, Plan } from "../plan.js";
import type { PlanInput } from "../plan-input.js";
import type { ChangedField } from "../step.js";

// What a plan takes from the cloud as it is: external resources, and answers to questions. Pure.

/** The external resources of a target, and what else than before it takes from them. */
export function externalChanges(
  { externals = [] }: Target,
  { transaction }: PriorState,
): InfrastructureChange[] {
  const before = new Map(transaction?.target.externals?.map((node) => [keyOf(node), node]));
  return externals.map((node) => {
    const key = keyOf(node);
    const changes = changedValues(before.get(key), node);
    const { id } = externalSpecOf(node);
    return { key, kind: "external", changes, reasons: changes.length === 0 ? [id] : [] };
  });
}

function changedValues(before: GraphNode | undefined, node: GraphNode): ChangedField[] {
  if (before === undefined) return [];
  const [from, to] = [externalSpecOf(before), externalSpecOf(node)];
  const valuesOf = ({ id, outputs }: ExternalSpec): JsonObject => ({ id, ...outputs });
  const [former, latter] = [valuesOf(from), valuesOf(to)];
  return Object.keys(latter).flatMap((path): ChangedField[] => {
    const [one, other] = [former[path], latter[path]];
    const isKnown = one !== undefined && other !== undefined;
    return isKnown && !sameJson(one, other) ? [{ path, from: one, to: other }] : [];
  });
}

/** Answers that the last transaction did not have, or had otherwise. */
export function lookupChanges(
  { prior, provider, planGoal }: Pick<PlanInput, "prior" | "provider" | "planGoal">,
  target: Target,
): Pick<Plan, "lookedUp"> {
  const { lookups = {} } = target;
  const before = prior.transaction?.target.lookups ?? {};
  const desired = planGoal.kind === "objects" ? planGoal.desired : desiredIn(target);
  const lookedUp = questionsOf(provider, desired).flatMap(
    ({ key, by, question }): LookupChange[] => {
      const answer = lookups[key];
      const former = before[key];
      if (answer === undefined || (former !== undefined && sameJson(former, answer))) return [];
      const asked = questionShown(question, target.secretFields);
      return [omitUndefined({ by, question: asked, answer, before: former })];
    },
  );
  return lookedUp.length === 0 ? {} : { lookedUp };
}

function questionShown(
  question: LookupQuestion,
  secret: readonly string[] | undefined,
): LookupQuestion {
  const clusterSpec = withoutSecretFields(question.clusterSpec, secret);
  if (question.kind === "cluster") return { ...question, clusterSpec };
  const providerSpec = withoutSecretFields(question.providerSpec, secret);
  return { ...question, providerSpec, clusterSpec };
}
