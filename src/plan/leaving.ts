import { type NodeKey } from "../graph/graph.js";
import type { MachineOwner } from "../sets/expand.js";
import { inNameOrder } from "./changes.js";
import { machineKey } from "./hosts.js";
import type { ObservedResources } from "./step.js";
import { cloudResources, type PriorState, type Target, type TargetMachine } from "./target.js";

/** A host that is alive and that the target no longer has, and whose it was. */
export interface LeavingHost {
  readonly host: NodeKey;
  readonly machine: string;
  readonly controlPlane: boolean;
  readonly owner?: MachineOwner;
  /** Milliseconds since the epoch. */
  readonly createdAtMs?: number;
  /** The cloud says that it never will run. */
  readonly failed: boolean;
  /** It serves the last committed revision; others are leftovers that were to go anyway. */
  readonly serves: boolean;
}

/**
 * The recorded hosts that `toDelete` names, in name order, without those that the cloud shows gone: each engine
 * run orders its records anew, and what is done next may not depend on that. One that no transaction remembers
 * belongs to nobody. Pure.
 */
export function leavingHosts(
  {
    prior,
    observedResources,
  }: { readonly prior: PriorState; readonly observedResources: ObservedResources },
  toDelete: ReadonlySet<NodeKey>,
  target: Target,
): LeavingHost[] {
  const wanted = target.machines.map((machine) => [machine.name, machine] as const);
  const machines = new Map([...knownMachines(prior), ...wanted]);
  const serving = new Set(prior.revision?.target.machines.map(({ host }) => host));
  const hosts = cloudResources(prior).flatMap(({ key, parent }): LeavingHost[] => {
    const observed = observedResources.get(key);
    if (!toDelete.has(key) || parent === undefined || observed === "gone") return [];
    const name = parent.slice(machineKey("").length);
    const { owner, controlPlane = false } = machines.get(name) ?? {};
    const createdAtMs = observed?.createdAtMs;
    return [
      {
        host: key,
        machine: name,
        controlPlane,
        serves: serving.has(key),
        failed: observed?.phase === "failed",
        ...(owner !== undefined && { owner }),
        ...(createdAtMs !== undefined && { createdAtMs }),
      },
    ];
  });
  return hosts.sort((left, right) => inNameOrder(left.host, right.host));
}

/** Every machine that the records speak of, by name: oldest knowledge first, newest counts. Pure. */
export function knownMachines({ transaction, revision }: PriorState): Map<string, TargetMachine> {
  const known = [
    ...(revision?.target.machines ?? []),
    ...(transaction?.former ?? []),
    ...(transaction?.target.machines ?? []),
  ];
  return new Map(known.map((machine) => [machine.name, machine]));
}
