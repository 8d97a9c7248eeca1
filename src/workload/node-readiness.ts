import { omitUndefined } from "../api/omit-undefined.js";
import type { Observed } from "../provider/port.js";
import { availabilityOf, type Readiness } from "../sets/status.js";

/** A Node as its API server shows it, as far as readiness goes. */
export interface NodeObject {
  readonly status?: NodeStatus | null;
}

export interface NodeStatus {
  readonly conditions?: readonly NodeCondition[] | null;
}

interface NodeCondition {
  readonly type: string;
  readonly status: string;
  /** A timestamp as Kubernetes writes it. */
  readonly lastTransitionTime?: string | null;
}

/** The first condition of type Ready. */
export function readyConditionOf(status: NodeStatus | null | undefined): NodeCondition | undefined {
  return status?.conditions?.find(({ type }) => type === "Ready");
}

/** Whether a Node is ready, and since when. No Node, and nothing said about it, is not ready. Pure. */
export function nodeReadiness(node: NodeObject | null | undefined): Readiness {
  const condition = readyConditionOf(node?.status);
  const ready = condition?.status === "True";
  const since = condition?.lastTransitionTime ?? undefined;
  return omitUndefined({
    ready,
    readySinceMs: since === undefined ? undefined : Date.parse(since),
  });
}

/** Whether a Node is ready and has been for longer than `minReadySeconds`. Pure. */
export function isNodeAvailable(
  node: NodeObject | null | undefined,
  minReadySeconds: number,
  nowMs: number,
): boolean {
  return availabilityOf(nodeReadiness(node), minReadySeconds, nowMs).kind === "available";
}

/** A host that serves, and its Node, where somebody has asked it. Pure. */
export function hostReadiness(observed: Observed | "gone" | undefined): Readiness {
  if (!isServing(observed)) return { ready: false };
  const { node, readySinceMs } = observed;
  if (readyConditionOf(node) === undefined) {
    return omitUndefined({ ready: true, readySinceMs });
  }
  const told = nodeReadiness({ status: node ?? null });
  return omitUndefined({ ...told, readySinceMs: told.readySinceMs ?? readySinceMs });
}

/** Pure. */
export function isServing(observed: Observed | "gone" | undefined): observed is Observed {
  return observed !== undefined && observed !== "gone" && observed.phase === "ready";
}
