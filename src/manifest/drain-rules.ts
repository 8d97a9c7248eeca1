import type { MemberPath, Violation } from "../api/diagnostic-codes.js";
import { isSelector, selectorMatches } from "../api/label-selector.js";
import { ruleWords } from "../api/rules.js";
import type { LabelSelector } from "../api/schema.js";
import type { ClusterObject, MachineDrainRuleObject } from "../api/types.js";

/** What is wrong with a rule beyond its schema. Pure. */
export function checkDrainRule({ spec }: MachineDrainRuleObject): Violation[] {
  const { drain, machines = [], pods = [] } = spec;
  const hasIdleOrder = drain.order !== undefined && drain.behavior !== "Drain";
  return [
    ...(hasIdleOrder
      ? [{ code: "NOT_ALLOWED" as const, path: ["spec", "drain", "order"], ...ruleWords.idleOrder }]
      : []),
    ...machines.flatMap((entry, index) => checkEntry(entry, ["spec", "machines", index])),
    ...pods.flatMap((entry, index) => checkEntry(entry, ["spec", "pods", index])),
  ];
}

function checkEntry(
  entry: Readonly<Record<string, LabelSelector | undefined>>,
  path: MemberPath,
): Violation[] {
  const selectors = Object.entries(entry);
  if (selectors.length === 0) return [{ code: "SELECTOR", path, ...ruleWords.noSelector }];
  return selectors
    .filter(([, selector]) => !isSelector(selector))
    .map(([name]) => ({ code: "SELECTOR", path: [...path, name], ...ruleWords.badSelector }));
}

/** Those that can be for Machines of a cluster, by the labels of the Cluster. Pure. */
export function rulesForCluster(
  rules: readonly MachineDrainRuleObject[],
  { metadata: { namespace, labels = {} } }: ClusterObject,
): MachineDrainRuleObject[] {
  return rules.filter(
    ({ metadata, spec: { machines } }) =>
      metadata.namespace === namespace &&
      (machines?.some(({ clusterSelector }) => selectorMatches(clusterSelector ?? {}, labels)) ??
        true),
  );
}

/** A rule that is for no Cluster of some manifests. Pure. */
export function idleRule(
  rule: MachineDrainRuleObject,
  clusters: readonly ClusterObject[],
): Violation[] {
  if (clusters.some((cluster) => rulesForCluster([rule], cluster).length > 0)) return [];
  const { namespace } = rule.metadata;
  return [
    {
      code: "NO_EFFECT",
      path: [],
      summary: "is for no Cluster of these manifests",
      hint: `a rule is for Clusters of its namespace, ${namespace}, that a clusterSelector of it selects`,
    },
  ];
}
