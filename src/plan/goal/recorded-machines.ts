import { omitUndefined } from "../../api/omit-undefined.js";
import { type NodeKey, nodeKey } from "../../graph/graph.js";
import type { RecordedMachine } from "../../sets/expanded.js";
import { machineKey, type TargetMachine } from "../../records/target.js";
import { knownMachines, cloudResources } from "../../records/prior-state.js";
import type { PlanInput } from "../plan-input.js";
import type { ObservedResource } from "../observation.js";

/**
 * What sets and deployments go on from: the machines of the last transaction, whether it came to its end
 * or not, after those of earlier ones that still have a host. So a goal in the middle of a rollout finds
 * everything that is there. Pure.
 */
export function recordedMachines(input: PlanInput): RecordedMachine[] {
  const { prior, observedResources, planGoal } = input;
  const asked = planGoal.kind === "objects" ? planGoal : undefined;
  const discarded = new Set(asked?.discarded);
  const hosts = hostsByMachine(input);
  const latest = prior.transaction?.target.machines ?? [];
  const names = new Set(latest.map(({ name }) => name));
  const earlier = [...knownMachines(prior).values()].filter(
    ({ name }) => !names.has(name) && (hosts.get(machineKey(name)) ?? []).length > 0,
  );
  return [...earlier, ...latest].map((machine) => {
    const alive = hosts.get(machineKey(machine.name)) ?? [];
    const seen = alive.map((key) => observedResources.get(key)).find((one) => one !== undefined);
    const isFound = alive.length > 0 || isUnrecorded(machine, input);
    const createdAtMs = seen === "gone" ? undefined : seen?.createdAtMs;
    return omitUndefined({
      ...machine,
      missing: isFound ? lackOf(seen) : "host",
      discarded: discarded.has(machine.name) ? true : undefined,
      deleteMarks: asked?.deleteMarks?.[machine.name],
      createdAtMs,
    });
  });
}

function lackOf(seen: ObservedResource | undefined): RecordedMachine["missing"] {
  if (seen === undefined || seen === "gone") return undefined;
  return seen.phase === "failed" ? "health" : seen.missing;
}

/** Recorded hosts that are not gone, by the component that they belong to. */
function hostsByMachine({
  prior,
  provider,
  observedResources,
}: PlanInput): Map<NodeKey, NodeKey[]> {
  const hosts = new Map<NodeKey, NodeKey[]>();
  for (const { key, kind, parent, deleting } of cloudResources(prior)) {
    if (kind !== provider.hostKind || parent === undefined || deleting) continue;
    if (observedResources.get(key) === "gone") continue;
    hosts.set(parent, [...(hosts.get(parent) ?? []), key]);
  }
  return hosts;
}

/** An engine was killed while it made the host, or forgot it. */
function isUnrecorded({ host }: TargetMachine, { prior, unrecorded }: PlanInput): boolean {
  return (
    prior.pending.some(({ key, type }) => key === host && type === "creating") ||
    unrecorded.some(({ who, phase }) => phase !== "gone" && nodeKey(who.kind, who.name) === host)
  );
}
