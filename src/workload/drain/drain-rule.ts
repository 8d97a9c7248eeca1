import { isSelector, selectorMatches } from "../../api/label-selector.js";
import type { MachineDrainRuleObject } from "../../api/types.js";
import type { LabelSelector } from "../../api/schema.js";

export type Labels = Readonly<Record<string, string>>;

/** A selector that may be left out, which then matches everything; whether it is one is checked before it is used. */
type Selector = LabelSelector | null | undefined;

interface PodSelector {
  readonly selector?: Selector;
  readonly namespaceSelector?: Selector;
}

interface MachineSelector {
  readonly selector?: Selector;
  readonly clusterSelector?: Selector;
}

/** How pods are drained from machines. Source: cluster-api, MachineDrainRule of cluster.x-k8s.io. */
export interface MachineDrainRule {
  readonly name: string;
  readonly namespace: string;
  readonly drain: { readonly behavior: string; readonly order?: number };
  /** Absent or empty: all of the namespace. */
  readonly machines?: readonly MachineSelector[] | null;
  /** Absent or empty: all. */
  readonly pods?: readonly PodSelector[] | null;
}

/** As its user wrote it. Pure. */
export function drainRuleOf({ metadata, spec }: MachineDrainRuleObject): MachineDrainRule {
  const { name, namespace } = metadata;
  return { name, namespace, ...spec };
}

/** What rules are chosen for. */
interface DrainedMachine {
  readonly namespace: string;
  readonly labels: Labels;
  readonly clusterLabels: Labels;
}

type RulesForMachine =
  | { readonly kind: "rules"; readonly rules: readonly MachineDrainRule[] }
  /** One of the namespace has a selector that means nothing: no rule is used then. */
  | { readonly kind: "invalid"; readonly rule: string };

/** Those of the machine's namespace that select it, by name: the first one that applies to a pod decides. Pure. */
export function rulesForMachine(
  all: readonly MachineDrainRule[],
  machine: DrainedMachine,
): RulesForMachine {
  const own = all.filter(({ namespace }) => namespace === machine.namespace);
  const invalid = own.find((rule) => !selectorsOf(rule).every(isSelector));
  if (invalid !== undefined) return { kind: "invalid", rule: invalid.name };
  const rules = own
    .filter(({ machines }) => appliesToMachine(machines, machine))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  return { kind: "rules", rules };
}

/** Whether one entry matches with both of its selectors; none means all. Pure. */
export function appliesToMachine(
  selectors: MachineDrainRule["machines"],
  { labels, clusterLabels }: Pick<DrainedMachine, "labels" | "clusterLabels">,
): boolean {
  return matchesAny(selectors, ({ selector, clusterSelector }) => [
    isSelected(selector, labels),
    isSelected(clusterSelector, clusterLabels),
  ]);
}

/** The same for a pod and its namespace. Pure. */
export function appliesToPod(
  selectors: MachineDrainRule["pods"],
  podLabels: Labels,
  namespaceLabels: Labels,
): boolean {
  return matchesAny(selectors, ({ selector, namespaceSelector }) => [
    isSelected(selector, podLabels),
    isSelected(namespaceSelector, namespaceLabels),
  ]);
}

function matchesAny<T>(
  entries: readonly T[] | null | undefined,
  matches: (entry: T) => readonly boolean[],
): boolean {
  if (entries === null || entries === undefined || entries.length === 0) return true;
  return entries.some((entry) => matches(entry).every(Boolean));
}

/** An absent or empty selector selects everything. Pure. */
export function isSelected(selector: Selector, labels: Labels): boolean {
  return selectorMatches(selector ?? {}, labels);
}

function selectorsOf({ machines, pods }: MachineDrainRule): Selector[] {
  return [
    ...(machines ?? []).flatMap(({ selector, clusterSelector }) => [selector, clusterSelector]),
    ...(pods ?? []).flatMap(({ selector, namespaceSelector }) => [selector, namespaceSelector]),
  ];
}
