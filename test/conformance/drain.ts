import type { V1OwnerReference, V1Pod, V1Volume } from "@kubernetes/client-node";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import { drainedPodOf } from "../../src/kube/node-drain.js";
import {
  appliesToMachine,
  appliesToPod,
  isSelected,
  type Labels,
  type MachineDrainRule,
  rulesForMachine,
} from "../../src/workload/drain/drain-rule.js";
import {
  type EvictionAnswer,
  evictionRound,
  type JudgedPod,
  outcomeOf,
  type RefusalReason,
} from "../../src/workload/drain/eviction-round.js";
import { podVerdict } from "../../src/workload/drain/pod-verdict.js";

interface PodGiven {
  readonly namespace: string;
  readonly name: string;
  readonly labels?: Labels;
  readonly annotations?: Labels;
  readonly deletionTimestamp?: string | null;
  readonly ownerReferences?: readonly V1OwnerReference[];
  readonly volumes?: readonly V1Volume[];
  readonly phase?: string | null;
}

interface Labelled {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
}

interface RulesGiven {
  readonly machine: Labelled;
  readonly cluster: Labelled;
  readonly machineDrainRules: readonly MachineDrainRule[];
}

interface PodQuestion extends RulesGiven {
  readonly now: string;
  readonly skipWaitForDeleteTimeoutSeconds: number;
  readonly pod: PodGiven;
  readonly existingDaemonSets: readonly { readonly namespace: string; readonly name: string }[];
  readonly namespaces: readonly { readonly name: string; readonly labels: Labels }[];
}

interface EvictionGiven {
  readonly name: string;
  readonly namespace?: string;
  readonly verdict: "drain" | "skip" | "wait";
  readonly order?: number;
  readonly deletionTimestamp?: string | null;
  readonly evictionResponse?: "ok" | "not-found" | RefusalReason;
}

/** The object that an API server would show. */
function podOf({ namespace, name, labels = {}, annotations = {}, ...rest }: PodGiven): V1Pod {
  const { deletionTimestamp, ownerReferences = [], volumes = [], phase } = rest;
  const deletedAt = deletionTimestamp ?? undefined;
  return {
    metadata: omitUndefined({
      namespace,
      name,
      labels: { ...labels },
      annotations: { ...annotations },
      ownerReferences: [...ownerReferences],
      deletionTimestamp: deletedAt === undefined ? undefined : new Date(deletedAt),
    }),
    spec: { volumes: [...volumes], containers: [] },
    status: omitUndefined({ phase: phase ?? undefined }),
  };
}

function podForEviction(given: PodQuestion) {
  const chosen = chosenRules(given);
  if (chosen.kind === "invalid") return { verdict: "error", reason: "invalid-selector" };
  const verdict = podVerdict(drainedPodOf(podOf(given.pod)), {
    nowMs: Date.parse(given.now),
    skipDeletedAfterSeconds: given.skipWaitForDeleteTimeoutSeconds,
    daemonSets: new Set(
      given.existingDaemonSets.map(({ namespace, name }) => `${namespace}/${name}`),
    ),
    namespaces: new Map(given.namespaces.map(({ name, labels }) => [name, labels])),
    rules: chosen.rules,
  });
  const { kind, ...told } = verdict;
  return { verdict: kind, ...told };
}

/** One filter alone: whatever else a pod is, its owner makes it again. */
function skipDeletedFilter(given: {
  readonly now: string;
  readonly skipWaitForDeleteTimeoutSeconds: number;
  readonly pod: PodGiven;
}) {
  const { kind } = podVerdict(drainedPodOf(podOf(given.pod)), {
    nowMs: Date.parse(given.now),
    skipDeletedAfterSeconds: given.skipWaitForDeleteTimeoutSeconds,
    daemonSets: new Set(),
    namespaces: new Map([[given.pod.namespace, {}]]),
    rules: [],
  });
  return { verdict: kind };
}

function chosenRules({ machine, cluster, machineDrainRules }: RulesGiven) {
  const { namespace, labels } = machine;
  return rulesForMachine(machineDrainRules, { namespace, labels, clusterLabels: cluster.labels });
}

function matchingRules(given: RulesGiven) {
  const chosen = chosenRules(given);
  return chosen.kind === "invalid"
    ? { error: true, ruleInError: chosen.rule, rules: [] }
    : { error: false, rules: chosen.rules.map(({ name }) => name) };
}

function evictPods({ pods }: { readonly pods: readonly EvictionGiven[] }) {
  const judged = pods.map((pod): JudgedPod & { readonly given: EvictionGiven } => {
    const { name, namespace = "default", order = 0, verdict: kind } = pod;
    const isBeingDeleted = (pod.deletionTimestamp ?? undefined) !== undefined;
    const verdict =
      kind === "skip" ? { kind, warnings: [] } : { kind, order, warnings: [] as const };
    return { name, namespace, isBeingDeleted, verdict, given: pod };
  });
  const round = evictionRound(judged);
  const answers = new Map(round.evict.map((pod) => [pod, answerTo(pod.given)] as const));
  const outcome = outcomeOf(round, answers);
  const failed: Record<string, string[]> = {};
  for (const { pod, reason } of outcome.refused) (failed[reason] ??= []).push(pod.name);
  const names = (some: readonly JudgedPod[]) => some.map(({ name }) => name);
  return {
    ignored: names(outcome.ignored),
    deletionTimestampSet: names(outcome.leaving),
    notFound: names(outcome.gone),
    failedEviction: failed,
    evictLater: names(outcome.evictLater),
    waitCompletedNow: names(outcome.awaited),
    waitCompletedLater: names(outcome.awaitedLater),
  };
}

function answerTo({ evictionResponse = "ok" }: EvictionGiven): EvictionAnswer {
  if (evictionResponse === "ok") return { kind: "accepted" };
  if (evictionResponse === "not-found") return { kind: "gone" };
  return { kind: "refused", reason: evictionResponse, text: evictionResponse };
}

/** What Cluster API does with the pods of a node that is drained. */
export const drainOperations = {
  skipDeletedFilter,
  podForEviction,
  matchingRules,
  evictPods,
  matchesSelector: (given: {
    readonly selector: Parameters<typeof isSelected>[0];
    readonly labels: Labels;
  }) => ({ matches: isSelected(given.selector, given.labels) }),
  ruleAppliesToPod: (given: {
    readonly podSelectors: MachineDrainRule["pods"];
    readonly podLabels: Labels;
    readonly namespaceLabels: Labels;
  }) => ({ applies: appliesToPod(given.podSelectors, given.podLabels, given.namespaceLabels) }),
  ruleAppliesToMachine: (given: {
    readonly machineSelectors: MachineDrainRule["machines"];
    readonly machineLabels: Labels;
    readonly clusterLabels: Labels;
  }) => ({
    applies: appliesToMachine(given.machineSelectors, {
      labels: given.machineLabels,
      clusterLabels: given.clusterLabels,
    }),
  }),
};
