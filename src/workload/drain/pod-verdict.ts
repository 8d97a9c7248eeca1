import { appliesToPod, type Labels, type MachineDrainRule } from "./drain-rule.js";

/** A pod of a node, as far as draining it goes. */
export interface DrainedPod {
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels;
  readonly annotations: Labels;
  /** Milliseconds since the epoch; absent: it is not being deleted. */
  readonly deletedAtMs?: number;
  /** The owner that controls it; absent: nobody makes it again. */
  readonly controller?: { readonly kind: string; readonly name: string };
  readonly hasLocalStorage: boolean;
  readonly phase?: string;
}

/** What is known of the cluster beside the pod. */
export interface PodSurroundings {
  readonly nowMs: number;
  /** Pods that are being deleted for longer are not waited for: seconds; 0 while the node can be reached. */
  readonly skipDeletedAfterSeconds: number;
  /** "<namespace>/<name>". */
  readonly daemonSets: ReadonlySet<string>;
  /** Labels of the namespaces that there are. */
  readonly namespaces: ReadonlyMap<string, Labels>;
  /** Those that select the machine, in their order. */
  readonly rules: readonly MachineDrainRule[];
}

type DrainWarning = "daemonset-pod" | "orphaned-daemonset-pod" | "local-storage" | "unmanaged";

/** What a drain does with a pod. */
export type PodVerdict =
  /** It is evicted, those of lower orders first. */
  | {
      readonly kind: "drain";
      readonly order: number;
      readonly warnings: readonly DrainWarning[];
    }
  /** It is left where it is, and goes with its node. */
  | { readonly kind: "skip"; readonly warnings: readonly DrainWarning[] }
  /** It is not evicted, and the node is not drained before it has ended. */
  | { readonly kind: "wait"; readonly order: number; readonly warnings: readonly DrainWarning[] }
  /** Nobody can tell: nothing of its node is evicted. */
  | {
      readonly kind: "error";
      readonly reason: "namespace-does-not-exist" | "unknown-drain-behavior";
    };

/** A filter that decides, one that has something to say, or one that does not care. */
type Finding =
  | { readonly kind: "decided"; readonly verdict: PodVerdict }
  | { readonly kind: "warning"; readonly warning: DrainWarning }
  | undefined;

type Filter = (pod: DrainedPod, around: PodSurroundings) => Finding;

const mirrorAnnotation = "kubernetes.io/config.mirror";
/** "skip", or "wait-completed" with or without its dash, in any case. */
const drainLabel = "cluster.x-k8s.io/drain";
const skipped: Finding = { kind: "decided", verdict: { kind: "skip", warnings: [] } };

/**
 * What becomes of a pod whose node is drained: the filters of Cluster API, in their order. Pure.
 * Source: cluster-api, core/reconcilers/machine/drain/filters.go.
 */
export function podVerdict(pod: DrainedPod, around: PodSurroundings): PodVerdict {
  const warnings: DrainWarning[] = [];
  for (const filter of filters) {
    const finding = filter(pod, around);
    if (finding?.kind === "decided") return finding.verdict;
    if (finding !== undefined) warnings.push(finding.warning);
  }
  return verdictByRules(pod, around, warnings);
}

const filters: readonly Filter[] = [
  ({ deletedAtMs }, { nowMs, skipDeletedAfterSeconds }) => {
    if (deletedAtMs === undefined || skipDeletedAfterSeconds <= 0) return undefined;
    return Math.floor((nowMs - deletedAtMs) / 1_000) > skipDeletedAfterSeconds
      ? skipped
      : undefined;
  },
  (pod, { daemonSets }) => {
    if (pod.controller?.kind !== "DaemonSet" || isFinished(pod)) return undefined;
    return daemonSets.has(`${pod.namespace}/${pod.controller.name}`)
      ? { kind: "decided", verdict: { kind: "skip", warnings: ["daemonset-pod"] } }
      : { kind: "warning", warning: "orphaned-daemonset-pod" };
  },
  ({ annotations }) => (mirrorAnnotation in annotations ? skipped : undefined),
  (pod) =>
    pod.hasLocalStorage && !isFinished(pod)
      ? { kind: "warning", warning: "local-storage" }
      : undefined,
  (pod) =>
    pod.controller === undefined && !isFinished(pod)
      ? { kind: "warning", warning: "unmanaged" }
      : undefined,
  ({ labels }) => {
    const said = labels[drainLabel]?.toLowerCase();
    if (said === "skip") return skipped;
    const waits = said === "wait-completed" || said === "waitcompleted";
    return waits
      ? { kind: "decided", verdict: { kind: "wait", order: 0, warnings: [] } }
      : undefined;
  },
];

function isFinished({ phase }: DrainedPod): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

function verdictByRules(
  { namespace, labels }: DrainedPod,
  { namespaces, rules }: PodSurroundings,
  warnings: readonly DrainWarning[],
): PodVerdict {
  const namespaceLabels = namespaces.get(namespace);
  if (namespaceLabels === undefined) return { kind: "error", reason: "namespace-does-not-exist" };
  const rule = rules.find(({ pods }) => appliesToPod(pods, labels, namespaceLabels));
  switch (rule?.drain.behavior) {
    case undefined:
    case "Drain":
      return { kind: "drain", order: rule?.drain.order ?? 0, warnings };
    case "Skip":
      return { kind: "skip", warnings: [] };
    case "WaitCompleted":
      return { kind: "wait", order: 0, warnings: [] };
    default:
      return { kind: "error", reason: "unknown-drain-behavior" };
  }
}
