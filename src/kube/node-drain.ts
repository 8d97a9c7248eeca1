import {
  type AppsV1Api,
  type CoreV1Api,
  PatchStrategy,
  V1Eviction,
  type V1Node,
  type V1Pod,
} from "@kubernetes/client-node";
import { omitUndefined } from "../api/omit-undefined.js";
import { mapBounded } from "../provider/bounded.js";
import { cordonAnnotation, cordonedAtMsOf } from "../workload/cordon.js";
import type { MachineDrainRule } from "../workload/drain/drain-rule.js";
import {
  blockersAfter,
  type DrainLook,
  type EvictionAnswer,
  evictionRound,
  type JudgedPod,
  outcomeOf,
} from "../workload/drain/eviction-round.js";
import {
  type DrainedPod,
  type PodSurroundings,
  podVerdict,
} from "../workload/drain/pod-verdict.js";
import { saidBy, statusOf, within } from "./requests.js";

/** As many as an API server answers without asking to slow down. */
const evictionsAtATime = 8;
/** The kubelet of a node that does not answer ends no pod: those that were to end are not waited for. */
const unreachablePatienceSeconds = 1;

/** What a drain asks. */
export interface DrainAccess {
  readonly core: CoreV1Api;
  readonly apps: AppsV1Api;
  readonly nowMs: number;
  /** Those for the Machine, in their order. */
  readonly rules: readonly MachineDrainRule[];
}

interface KnownPod extends JudgedPod {
  readonly item: V1Pod;
}

/**
 * One round: the Node takes no more pods, and those of it are asked to go whose turn it is, as far as their budgets let
 * them. Returns what is still in the way; the next round goes on from what there is then. Throws what the API server
 * refuses, and an Error for a pod of which nobody can tell whether it may go.
 */
export async function drainRound(node: V1Node, access: DrainAccess): Promise<DrainLook> {
  const { core } = access;
  const cordoned = await cordon(node, access);
  if (cordoned === "gone") return { blockers: [] };
  const { sinceMs } = cordoned;
  const round = evictionRound(await podsOn(node, access));
  const isReachable = canBeReached(node);
  const answers = new Map<KnownPod, EvictionAnswer>();
  await mapBounded(round.evict, evictionsAtATime, async (pod) => {
    answers.set(pod, await evict(pod, core, isReachable));
  });
  return omitUndefined({ sinceMs, blockers: blockersAfter(outcomeOf(round, answers)) });
}

/** The pods of a Node, each with what a drain does with it. Throws as `drainRound` does. */
export async function podsOn(node: V1Node, access: DrainAccess): Promise<KnownPod[]> {
  const { items } = await access.core.listPodForAllNamespaces(
    { fieldSelector: `spec.nodeName=${node.metadata?.name ?? ""}` },
    within(),
  );
  if (items.length === 0) return [];
  const around = await surroundings(node, access);
  return items.map((item) => judged(item, around));
}

/**
 * Nodes that stay after all take pods again: those that a drain of ours has cordoned, nobody else's. What one of them fails with keeps no
 * other from it. Throws the first of that.
 */
export async function uncordonOurs(nodes: readonly V1Node[], core: CoreV1Api): Promise<void> {
  const body = {
    metadata: { annotations: { [cordonAnnotation]: null } },
    spec: { unschedulable: null },
  };
  const failures: unknown[] = [];
  for (const { metadata } of nodes) {
    if (metadata?.annotations?.[cordonAnnotation] === undefined) continue;
    const named = { name: metadata.name ?? "", body };
    await core.patchNode(named, within(PatchStrategy.MergePatch)).catch((error: unknown) => {
      if (!isGone(error)) failures.push(error);
    });
  }
  if (failures.length > 0) throw failures[0];
}

/** Somebody has deleted it meanwhile, a Node with all that is on it: nothing is left to be done to it. */
function isGone(error: unknown): boolean {
  return statusOf(error) === 404;
}

/** Since when it takes no more pods, milliseconds since the epoch; undefined where somebody else has cordoned it. */
async function cordon(
  node: V1Node,
  { core, nowMs }: DrainAccess,
): Promise<{ readonly sinceMs: number | undefined } | "gone"> {
  if (node.spec?.unschedulable === true) return { sinceMs: cordonedAtMsOf(node) };
  const body = {
    metadata: { annotations: { [cordonAnnotation]: new Date(nowMs).toISOString() } },
    spec: { unschedulable: true },
  };
  try {
    await core.patchNode(
      { name: node.metadata?.name ?? "", body },
      within(PatchStrategy.MergePatch),
    );
  } catch (error) {
    if (isGone(error)) return "gone";
    throw error;
  }
  return { sinceMs: nowMs };
}

/** A node whose kubelet nobody has heard of for a while has this condition unknown; one that was never heard of has none. */
export function canBeReached({ status }: V1Node): boolean {
  return status?.conditions?.find(({ type }) => type === "Ready")?.status !== "Unknown";
}

async function surroundings(
  node: V1Node,
  { core, apps, nowMs, rules }: DrainAccess,
): Promise<PodSurroundings> {
  const [daemonSets, namespaces] = await Promise.all([
    apps.listDaemonSetForAllNamespaces({}, within()),
    core.listNamespace({}, within()),
  ]);
  return {
    nowMs,
    skipDeletedAfterSeconds: canBeReached(node) ? 0 : unreachablePatienceSeconds,
    daemonSets: new Set(
      daemonSets.items.map(
        ({ metadata }) => `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`,
      ),
    ),
    namespaces: new Map(
      namespaces.items.map(({ metadata }) => [metadata?.name ?? "", metadata?.labels ?? {}]),
    ),
    rules,
  };
}

/** A pod as its API server shows it, as far as a drain asks. Pure. */
export function drainedPodOf({ metadata, spec, status }: V1Pod): DrainedPod {
  const controller = metadata?.ownerReferences?.find((owner) => owner.controller === true);
  return omitUndefined({
    namespace: metadata?.namespace ?? "",
    name: metadata?.name ?? "",
    labels: metadata?.labels ?? {},
    annotations: metadata?.annotations ?? {},
    deletedAtMs: metadata?.deletionTimestamp?.getTime(),
    controller: controller && { kind: controller.kind, name: controller.name },
    hasLocalStorage: spec?.volumes?.some(({ emptyDir }) => emptyDir !== undefined) === true,
    phase: status?.phase,
  });
}

function judged(item: V1Pod, around: PodSurroundings): KnownPod {
  const pod = drainedPodOf(item);
  const { namespace, name } = pod;
  const verdict = podVerdict(pod, around);
  if (verdict.kind === "error") {
    throw new Error(`pod ${namespace}/${name}: ${verdict.reason.replaceAll("-", " ")}`);
  }
  return { item, namespace, name, isBeingDeleted: pod.deletedAtMs !== undefined, verdict };
}

/** Through the eviction API, which keeps to the budgets of disruption. */
async function evict(
  { namespace, name }: KnownPod,
  core: CoreV1Api,
  isReachable: boolean,
): Promise<EvictionAnswer> {
  // Nobody is there who could let it end in peace.
  const gracePeriodSeconds = isReachable ? undefined : unreachablePatienceSeconds;
  const body = Object.assign(
    new V1Eviction(),
    omitUndefined({
      metadata: { namespace, name },
      deleteOptions: gracePeriodSeconds === undefined ? undefined : { gracePeriodSeconds },
    }),
  );
  try {
    await core.createNamespacedPodEviction({ namespace, name, body }, within());
    return { kind: "accepted" };
  } catch (error) {
    if (isGone(error)) return { kind: "gone" };
    const text = saidBy(error);
    if (statusOf(error) === 429) return { kind: "refused", reason: "too-many-requests", text };
    const isEnding = statusOf(error) === 403 && text.includes("is being terminated");
    const reason = isEnding ? "namespace-terminating" : "other-error";
    return { kind: "refused", reason, text };
  }
}
