import type { Desired, MachineSpec } from "../api/types.js";
import {
  chooseVersions,
  type ResolvedMachineDeployment,
  type ResolvedMachineSet,
} from "./versions.js";

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
 * same names. `recorded` are the machines of the last transaction.
 *
 * A MachineSet's machine keeps the spec it was made with (a set's template is for new machines); a
 * MachineDeployment keeps its MachineSet as long as every machine of it can follow the template in
 * place, and gets a new one otherwise. Source: reference/cluster-api.md 2.4, 2.5.
 */
export function expandMachines(
  desired: Desired,
  recorded: readonly ExpandedMachine[],
  judge: TemplateJudge,
): ExpandedMachine[] {
  const resolved = chooseVersions(desired, recorded);
  const own = resolved.machines.map(({ metadata, spec }) => ({ name: metadata.name, spec }));
  const ofSets = resolved.machineSets.flatMap((set) => {
    const existing = recorded.filter(
      ({ owner }) =>
        owner?.machineSet === set.metadata.name && owner.machineDeployment === undefined,
    );
    return machinesOf(set, set.metadata.name, existing, { keepSpec: true });
  });
  const ofDeployments = resolved.machineDeployments.flatMap((deployment) => {
    const setName = currentSet(deployment, recorded, judge);
    const existing = recorded.filter(({ owner }) => owner?.machineSet === setName);
    return machinesOf(deployment, setName, existing, {
      keepSpec: false,
      machineDeployment: deployment.metadata.name,
    });
  });
  return [...own, ...ofSets, ...ofDeployments];
}

/** The recorded set whose machines can all follow the template (the newest such), or a new one. */
function currentSet(
  deployment: ResolvedMachineDeployment,
  recorded: readonly ExpandedMachine[],
  judge: TemplateJudge,
): string {
  const ours = recorded.filter(
    ({ owner }) => owner?.machineDeployment === deployment.metadata.name,
  );
  const setNames = [...new Set(ours.map(({ owner }) => owner?.machineSet ?? ""))];
  const following = setNames.findLast((name) =>
    ours
      .filter(({ owner }) => owner?.machineSet === name)
      .every((machine) => judge.canFollow(deployment, machine)),
  );
  return following ?? freshName(`${deployment.metadata.name}-${judge.hash(deployment)}`, setNames);
}

/** The hash leaves out what may change in place, so an old set can have the name already. */
function freshName(name: string, taken: readonly string[]): string {
  if (!taken.includes(name)) return name;
  for (let count = 2; ; count += 1) {
    if (!taken.includes(`${name}-${count}`)) return `${name}-${count}`;
  }
}

/** Existing machines stay, lowest ordinals first; missing ones take the lowest free ordinals. */
function machinesOf(
  set: ResolvedMachineSet | ResolvedMachineDeployment,
  setName: string,
  existing: readonly ExpandedMachine[],
  how: { readonly keepSpec: boolean; readonly machineDeployment?: string },
): ExpandedMachine[] {
  const { replicas, template } = set.spec;
  const byOrdinal = new Map(existing.map((machine) => [machine.owner?.ordinal ?? 0, machine]));
  const kept = [...byOrdinal.keys()].sort((left, right) => left - right).slice(0, replicas);
  const free: number[] = [];
  for (let ordinal = 0; kept.length + free.length < replicas; ordinal += 1) {
    if (!kept.includes(ordinal)) free.push(ordinal);
  }
  return [...kept, ...free]
    .sort((left, right) => left - right)
    .map((ordinal) => ({
      name: `${setName}-${ordinal}`,
      spec: (how.keepSpec ? byOrdinal.get(ordinal)?.spec : undefined) ?? template.spec,
      owner: {
        machineSet: setName,
        ordinal,
        ...(how.machineDeployment !== undefined && { machineDeployment: how.machineDeployment }),
      },
    }));
}
