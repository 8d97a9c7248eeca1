import type { Desired, MachineSpec } from "../api/types.js";
import type { GoReason } from "./deletion-order.js";
import { expandDeployment } from "./expand-deployment.js";
import { expandSet } from "./expand-set.js";
import { chooseVersions, type ResolvedMachineDeployment } from "./versions.js";

/** A Machine of a pass: written by a user, or derived from a set. */
export interface ExpandedMachine {
  /** Unique within the cluster. */
  readonly name: string;
  readonly spec: MachineSpec;
  /** The set that wants it; absent for Machines that users wrote. */
  readonly owner?: MachineOwner;
}

export interface MachineOwner {
  readonly machineSet: string;
  /** The MachineDeployment above the set, if any. */
  readonly machineDeployment?: string;
  /** Counts from 0 within the set. */
  readonly ordinal: number;
}

/** A Machine of the records, with what is known of its host. */
export interface RecordedMachine extends ExpandedMachine {
  /** No host of it exists, or the one that there is will never run; one that serves without. */
  readonly missing?: "host" | "health";
  /** Somebody deleted it: it goes, and its name stays taken until it is gone. */
  readonly discarded?: boolean;
  /** When its host was made, milliseconds since the epoch. */
  readonly createdAtMs?: number;
}

/** A Machine that its set gives up, and why it rather than another. */
export interface GoingMachine {
  readonly name: string;
  readonly reason: GoReason;
}

/** What some objects come to, beside the machines that there are. */
export interface Expanded {
  readonly machines: readonly ExpandedMachine[];
  /** Of sets that have too many; what no set asks for at all is not among them. */
  readonly going: readonly GoingMachine[];
}

/** What expansion has to ask the provider, decided by src/compile. Both pure. */
export interface TemplateJudge {
  /** Short hash of what cannot change in place; names new MachineSets. */
  hash(deployment: ResolvedMachineDeployment): string;
  /** Whether a machine can follow the deployment's present template without being replaced. */
  canFollow(deployment: ResolvedMachineDeployment, machine: ExpandedMachine): boolean;
}

/**
 * Every Machine of a cluster: users' own first, then those of MachineSets, then those of
 * MachineDeployments, each in document order and by ordinal. Pure, and the same inputs give the
 * same names. `recorded` are the machines of the last transaction, and others that still have hosts.
 *
 * A MachineSet's machine keeps the spec it was made with (a set's template is for new machines); a
 * MachineDeployment keeps its MachineSet as long as every machine of it can follow the template in
 * place, and gets a new one otherwise. Source: docs/cluster-api.md#rollouts.
 */
export function expandObjects(
  desired: Desired,
  recorded: readonly RecordedMachine[],
  judge: TemplateJudge,
  nowMs = 0,
): Expanded {
  const resolved = chooseVersions(desired, recorded);
  const own = resolved.machines.map(({ metadata, spec }) => ({ name: metadata.name, spec }));
  const sets = [
    ...resolved.machineSets.map((set) => expandSet(set, recorded, nowMs)),
    ...resolved.machineDeployments.map((deployment) =>
      expandDeployment(deployment, recorded, { judge, nowMs }),
    ),
  ];
  return {
    machines: [...own, ...sets.flatMap(({ machines }) => machines)],
    going: sets.flatMap(({ going }) => going),
  };
}

/** The machines of `expandObjects`. Pure. */
export function expandMachines(...given: Parameters<typeof expandObjects>): ExpandedMachine[] {
  return [...expandObjects(...given).machines];
}
