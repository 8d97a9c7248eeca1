import { type NodeKey } from "../graph/graph.js";
import type { MachineOwner } from "../sets/expand.js";
import { machineKey } from "./hosts.js";
import type { Sightings } from "./step.js";
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
 * The recorded hosts that `doomed` names, in state order, without those that the cloud shows gone. One
 * that neither the target nor any transaction knows belongs to nobody. Pure.
 */
export function leavingHosts(
  prior: PriorState,
  target: Target,
  doomed: ReadonlySet<NodeKey>,
  sightings: Sightings,
): LeavingHost[] {
  const wanted = target.machines.map((machine) => [machine.name, machine] as const);
  // As it will be known once the target is recorded: then the plan is made again, and is the same.
  const machines = new Map([...everKnownMachines(prior), ...wanted]);
  const serving = new Set(prior.revision?.target.machines.map(({ host }) => host));
  return cloudResources(prior).flatMap(({ key, parent }): LeavingHost[] => {
    const sighting = sightings.get(key);
    if (!doomed.has(key) || parent === undefined || sighting === "gone") return [];
    const name = parent.slice(machineKey("").length);
    const { owner, controlPlane = false } = machines.get(name) ?? {};
    const createdAtMs = sighting?.createdAtMs;
    return [
      {
        ...{ host: key, machine: name, controlPlane, serves: serving.has(key) },
        failed: sighting?.phase === "failed",
        ...(owner !== undefined && { owner }),
        ...(createdAtMs !== undefined && { createdAtMs }),
      },
    ];
  });
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

/** Those and the machines that the last commit left behind: their deletion may still be owed. Pure. */
export function everKnownMachines(prior: PriorState): Map<string, TargetMachine> {
  const { revision } = prior;
  const superseded = revision?.history.findLast(
    ({ number, target }) => number !== revision.number && target !== undefined,
  )?.target;
  const left = (superseded?.machines ?? []).map((machine) => [machine.name, machine] as const);
  return new Map([...left, ...knownMachines(prior)]);
}
