import { keyOf, nodeKey, type NodeKey, refsIn } from "../../graph/graph.js";
import { cloudResources, recordedStatus } from "../../records/prior-state.js";
import type { Target } from "../../records/target.js";
import type { Decided } from "../decisions/decided.js";
import type { PlanInput } from "../plan-input.js";

/**
 * Drifted records, and all unfinished ones: Pulumi would update those in every pass, also in one that
 * only keeps them, and what is gone or cannot follow would fail it each time. And those that lack what is told by now. Pure.
 */
export function staleKeys(
  input: PlanInput,
  target: Target,
  { infrastructure, hosts }: Pick<Decided, "infrastructure" | "hosts">,
): NodeKey[] {
  const { prior, provider } = input;
  const unfinished = cloudResources(prior).filter((resource) => resource.unfinished);
  const keys = [
    ...unfinished.map(({ key }) => key),
    ...infrastructure.filter(({ stale }) => stale).map(({ node }) => keyOf(node)),
    ...hosts
      .filter(({ decision }) => decision.stale)
      .map(({ decision }) => nodeKey(provider.hostKind, decision.name)),
    ...untold(input, target),
  ];
  return [...new Set(keys)];
}

/** Records that lack what others refer to and the cloud tells by now: an address that it gave some time later. */
function untold({ prior, observedResources }: PlanInput, { nodes }: Target): NodeKey[] {
  const records = new Map(cloudResources(prior).map((record) => [record.key, record]));
  const late = nodes.flatMap(({ spec }) => refsIn(spec)).filter(({ output }) => output !== "id");
  return late.flatMap(({ $ref, output }) => {
    const observed = observedResources.get($ref);
    const record = records.get($ref);
    if (record === undefined || observed === undefined || observed === "gone") return [];
    const isTold = recordedStatus(record)[output] !== undefined;
    return isTold || observed.status[output] === undefined ? [] : [$ref];
  });
}
