import type { Labels, MachineDrainRule } from "../../src/workload/drain/drain-rule.js";
import {
  blockersAfter,
  type DrainBlocker,
  type EvictionAnswer,
  evictionRound,
  type JudgedPod,
  outcomeOf,
} from "../../src/workload/drain/eviction-round.js";
import { podVerdict } from "../../src/workload/drain/pod-verdict.js";

const namespace = "default";
const around = {
  nowMs: 0,
  skipDeletedAfterSeconds: 0,
  daemonSets: new Set<string>(),
  namespaces: new Map([[namespace, { "kubernetes.io/metadata.name": namespace }]]),
};
const accepted: EvictionAnswer = { kind: "accepted" };

/** What rounds of drains find where every host has the same pods, by name, which are gone a round after they were evicted. */
export function goingPods(pods: Readonly<Record<string, Labels>>) {
  const goneFrom = new Map<string, Set<string>>();
  return (host: string, rules: readonly MachineDrainRule[]): DrainBlocker[] => {
    const gone = goneFrom.get(host) ?? new Set();
    goneFrom.set(host, gone);
    const left = Object.entries(pods).filter(([name]) => !gone.has(name));
    const round = evictionRound(left.map(([name, labels]) => judged(name, labels, rules)));
    for (const { name } of round.evict) gone.add(name);
    return blockersAfter(outcomeOf(round, new Map(round.evict.map((pod) => [pod, accepted]))));
  };
}

function judged(name: string, labels: Labels, rules: readonly MachineDrainRule[]): JudgedPod {
  const pod = { namespace, name, labels, annotations: {}, hasLocalStorage: false };
  const verdict = podVerdict(pod, { ...around, rules });
  if (verdict.kind === "error") throw new Error(`pod ${name}: ${verdict.reason}`);
  return { namespace, name, isBeingDeleted: false, verdict };
}
