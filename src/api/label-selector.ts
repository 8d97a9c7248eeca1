import { isLabelValue, isQualifiedName } from "./name-forms.js";
import type { LabelSelector } from "./schema.js";

type Labels = Readonly<Record<string, string>>;
type Requirement = NonNullable<LabelSelector["matchExpressions"]>[number];

/** Whether labels meet everything that a selector asks for; an empty selector asks for nothing. */
export function selectorMatches(selector: LabelSelector, labels: Labels): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([label, wanted]) => labels[label] === wanted) &&
    matchExpressions.every((requirement) => requirementHolds(requirement, labels))
  );
}

/** Whether a selector asks for nothing. Pure. */
export function isEmptySelector({
  matchLabels = {},
  matchExpressions = [],
}: LabelSelector): boolean {
  return Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
}

/**
 * A selector as text, the way kubectl and autoscalers write it: "app=web,tier in (a,b),!old". Pure.
 * Source: apimachinery, metav1.FormatLabelSelector.
 */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  return [
    ...Object.entries(matchLabels)
      .map(([label, wanted]) => `${label}=${wanted}`)
      .sort(),
    ...matchExpressions.map(requirementText),
  ].join(",");
}

function requirementText({ key, operator, values = [] }: Requirement): string {
  switch (operator) {
    case "In":
      return `${key} in (${values.join(",")})`;
    case "NotIn":
      return `${key} notin (${values.join(",")})`;
    case "Exists":
      return key;
    case "DoesNotExist":
      return `!${key}`;
  }
}

/** Whether labels meet one requirement. A label that is absent is not in any list. */
export function requirementHolds(
  { key, operator, values = [] }: Requirement,
  labels: Labels,
): boolean {
  const value = labels[key];
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
  }
}

const listOperators: readonly string[] = ["In", "NotIn"];
const presenceOperators: readonly string[] = ["Exists", "DoesNotExist"];

/** Whether it means something: a key or a value that no label has, or an operator without its values, does not. None is one. Pure. */
export function isSelector(selector: LabelSelector | null | undefined): boolean {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  const areLabels = Object.entries(matchLabels).every(
    ([key, value]) => isQualifiedName(key) && isLabelValue(value),
  );
  const areRequirements = matchExpressions.every(({ key, operator, values = [] }) => {
    const isKnown = listOperators.includes(operator)
      ? values.length > 0 && values.every(isLabelValue)
      : presenceOperators.includes(operator) && values.length === 0;
    return isQualifiedName(key) && isKnown;
  });
  return areLabels && areRequirements;
}
