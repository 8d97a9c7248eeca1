import { inDependencyOrder, keyOf, nodeKey, type NodeKey } from "../../graph/graph.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import type { RecordedResource } from "../../records/prior-state.js";
import type { Target } from "../../records/target.js";
import { letGoReason } from "../changes/changes.js";
import type { DecidedHost } from "../decisions/decided.js";
import type { HostDecision } from "../decisions/hosts.js";
import type { InfrastructureDecision } from "../decisions/infrastructure.js";
import { drainsHosts } from "../decisions/draining.js";
import { recordedHostOf } from "../decisions/satellites.js";
import { reasonText } from "../plan.js";
import type { PlanInput } from "../plan-input.js";
import type { Step } from "../step.js";

/** What a step is made of. */
type Decision = Pick<
  InfrastructureDecision | HostDecision,
  "kind" | "changes" | "reasons" | "isLeft"
> &
  Pick<HostDecision, "starts">;

/** What was decided about each node of a target. Pure. */
export function decisionsByKey(
  infrastructure: readonly InfrastructureDecision[],
  hosts: readonly DecidedHost[],
  { hostKind }: InfrastructureProvider,
): Map<NodeKey, Decision> {
  return new Map<NodeKey, Decision>([
    ...infrastructure.map((one) => [keyOf(one.node), one] as const),
    ...hosts.map(({ decision }) => [nodeKey(hostKind, decision.name), decision] as const),
  ]);
}

/**
 * What is done to the nodes of a target that it still has. One that nothing was decided about is a component: it comes and goes
 * with its hosts. Pure.
 */
export function stepsToward(
  target: Target,
  decisions: ReadonlyMap<NodeKey, Decision>,
  provider: InfrastructureProvider,
): Step[] {
  const drains = drainsHosts(provider, target);
  return inDependencyOrder(target.nodes).flatMap((node): Step[] => {
    const decision = decisions.get(keyOf(node));
    if (decision === undefined || decision.kind === "same") return [];
    const { kind, changes, reasons } = decision;
    const about = { key: keyOf(node), reason: reasonText(reasons), ...livingWith(node.host) };
    if (kind !== "update") {
      return [{ kind: kind === "adopt" || kind === "import" ? kind : "create", ...about }];
    }
    const isDisturbed = changes.some(({ disruptive }) => disruptive !== undefined);
    const starts = decision.starts === true ? ({ starts: true } as const) : {};
    const step = { kind, changes, ...about, ...starts } as const;
    return drains && isDisturbed && node.kind === provider.hostKind
      ? [{ ...step, drains: true }]
      : [step];
  });
}

function livingWith(host: NodeKey | undefined): Pick<Step, "host"> {
  return host === undefined ? {} : { host };
}

/** How a recorded resource goes that the target does not have. Pure. */
export function deletionOf(
  resource: RecordedResource,
  target: Target,
  { observedResources, provider }: PlanInput,
  letGo: ReadonlySet<NodeKey>,
): Step {
  const machine = resource.parent?.replace(/^Machine\//, "");
  const successor = target.machines.find(({ name }) => name === machine);
  const gone = observedResources.get(resource.key) === "gone";
  const reason = gone
    ? "it is gone from the cloud; only its record is left"
    : successor !== undefined
      ? `${successor.host} serves instead`
      : "nothing asks for it any more";
  const about = { key: resource.key, ...livingWith(recordedHostOf(resource, provider)) };
  return letGo.has(resource.key)
    ? { kind: "delete", ...about, reason: letGoReason, letGo: true }
    : { kind: "delete", ...about, reason };
}
