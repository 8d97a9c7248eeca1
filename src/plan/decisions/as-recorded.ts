import { policiesOf } from "../../compile/update-policy.js";
import { keyOf, type NodeKey } from "../../graph/graph.js";
import { importIn } from "../../records/imports.js";
import { cloudResources, recordedSpec } from "../../records/prior-state.js";
import type { Target } from "../../records/target.js";
import { hasDrifted } from "../observation.js";
import type { PlanInput } from "../plan-input.js";
import type { Decided, DecidedHost } from "./decided.js";

/**
 * The decisions of a request that changes records and ownership tags alone. An adoption gives a record to each node of the target that has none,
 * an import to its host. Every other node stays as it is recorded, also where its record is lost or differs from the target: the next `up`
 * corrects that, as it would have without the request. Pure.
 */
export function asRecorded(
  target: Target,
  { prior, provider, observedResources, goal }: PlanInput,
): Decided {
  const recorded = new Map(cloudResources(prior).map((record) => [record.key, record]));
  const isLeft = true as const;
  const decisionOf = (key: NodeKey) => {
    const about = { changes: [], reasons: [] };
    if (goal.kind !== "adopt") return { ...about, kind: "same" as const, isLeft, stale: false };
    const record = recorded.get(key);
    if (record === undefined) return { ...about, kind: "adopt" as const, stale: false };
    const stale = hasDrifted(observedResources.get(key), recordedSpec(record));
    return { ...about, kind: "same" as const, isLeft, stale };
  };
  const imported = importIn(goal, target);
  const hostDecisionOf = (key: NodeKey) => {
    if (key !== imported?.host || recorded.has(key)) return decisionOf(key);
    const reasons = [importReason(imported.id)];
    return { kind: "import" as const, changes: [], reasons, stale: false };
  };
  const policyOf = policiesOf(target.objects);
  const nodes = new Map(target.nodes.map((node) => [keyOf(node), node]));
  return {
    infrastructure: target.nodes
      .filter(({ type, kind }) => type === "resource" && kind !== provider.hostKind)
      .map((node) => ({ node, ...decisionOf(keyOf(node)) })),
    hosts: target.machines.map((machine): DecidedHost => {
      const { host, controlPlane } = machine;
      const { name = "", spec = {} } = nodes.get(host) ?? {};
      const decision = { ...hostDecisionOf(host), name, policy: policyOf(machine) };
      return { machine, controlPlane, decision, spec, wanted: spec };
    }),
    going: new Map(),
  };
}

function importReason(id: string): string {
  return `${id} is there; it gets our marks and a record, nothing else of it is changed`;
}
