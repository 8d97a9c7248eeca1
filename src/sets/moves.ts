import { CapstanError } from "../api/error.js";
import { sameJson } from "../api/json.js";
import type { Desired } from "../api/types.js";
import { currentSet, freshName } from "./expand-deployment.js";
import type {
  ExpandedMachine,
  MachineOwner,
  ResolvedMachineDeployment,
  TemplateJudge,
} from "./expanded.js";
import { chooseVersions } from "./versions.js";

// Machines that get another owner and keep their names, and so their hosts. Pure.

/** "MachineDeployment/workers". */
export interface MachineGroup {
  readonly kind: "Machine" | "MachineSet" | "MachineDeployment";
  readonly name: string;
}

/** All machines of a set or deployment, or a single one, and who is to own them. */
export interface OwnerMove {
  readonly from: MachineGroup;
  readonly to: MachineGroup;
}

function groupText({ kind, name }: MachineGroup): string {
  return `${kind}/${name}`;
}

function moveText({ from, to }: OwnerMove): string {
  return `${groupText(from)} -> ${groupText(to)}`;
}

/** Who is to own each machine that moves, by machine. */
export type NewOwners = ReadonlyMap<string, MachineOwner>;

/**
 * Where moves lead, all of them at once: what goes to a MachineDeployment joins the set of its template if it
 * can follow that, and else comes as a set of its own, which the rollout then replaces. Throws INVALID_INPUT
 * naming every move that cannot be made.
 */
export function newOwners(
  moves: readonly OwnerMove[],
  machines: readonly ExpandedMachine[],
  desired: Desired,
  judge: TemplateJudge,
): NewOwners {
  refuseMoves(moves, machines, desired);
  const asMembers = machines.map((machine) => {
    const move = moves.find(({ from }) => isOf(from, machine));
    return move === undefined ? machine : { ...machine, owner: provisionalOwner(move, machine) };
  });
  const { machineDeployments } = chooseVersions(desired, asMembers, judge.offers);
  const settled = machines.filter((machine) => !moves.some(({ from }) => isOf(from, machine)));
  const owners = new Map<string, MachineOwner>();
  for (const { from, to } of moves) {
    const moving = machines.filter((machine) => isOf(from, machine));
    const deployment = machineDeployments.find(({ metadata }) => metadata.name === to.name);
    const found =
      to.kind === "MachineDeployment" && deployment !== undefined
        ? inDeployment(deployment, moving, settled, judge)
        : inSet({ machineSet: to.name }, moving, settled);
    for (const [name, owner] of found) owners.set(name, owner);
    settled.push(...moving.map((machine) => withNewOwner(machine, owners)));
  }
  return owners;
}

/** The machine as it is owned from then on. Pure. */
export function withNewOwner<M extends ExpandedMachine>(machine: M, owners: NewOwners): M {
  const owner = owners.get(machine.name);
  return owner === undefined ? machine : { ...machine, owner };
}

/** Tells whose template a machine is to follow; which set it comes to is decided after that. */
function provisionalOwner({ to }: OwnerMove, machine: ExpandedMachine): MachineOwner {
  const ordinal = machine.owner?.ordinal ?? 0;
  return to.kind === "MachineSet"
    ? { machineSet: to.name, ordinal }
    : { machineSet: formerSet(machine), machineDeployment: to.name, ordinal };
}

function inDeployment(
  deployment: ResolvedMachineDeployment,
  moving: readonly ExpandedMachine[],
  others: readonly ExpandedMachine[],
  judge: TemplateJudge,
): [string, MachineOwner][] {
  const { name: machineDeployment } = deployment.metadata;
  const present = others.filter(({ owner }) => owner?.machineDeployment === machineDeployment);
  const current = currentSet(deployment, present, judge);
  const taken = [current, ...present.map(({ owner }) => owner?.machineSet ?? "")];
  const formerSets = new Set(moving.map((machine) => formerSet(machine)));
  const joining: ExpandedMachine[] = [];
  const found: [string, MachineOwner][] = [];
  for (const set of formerSets) {
    const members = moving.filter((machine) => formerSet(machine) === set);
    if (members.every((machine) => judge.canFollow(deployment, machine))) {
      joining.push(...members);
      continue;
    }
    const machineSet = freshName(`${machineDeployment}-${generationOf(set, members)}`, taken);
    taken.push(machineSet);
    found.push(...inSet({ machineSet, machineDeployment }, members, others));
  }
  return [...found, ...inSet({ machineSet: current, machineDeployment }, joining, others)];
}

function formerSet({ name, owner }: ExpandedMachine): string {
  return owner?.machineSet ?? name;
}

/** What a deployment has named its set after: "7ca2dcf0" of "workers-7ca2dcf0". */
function generationOf(set: string, [first]: readonly ExpandedMachine[]): string {
  const prefix = `${first?.owner?.machineDeployment ?? ""}-`;
  return set.startsWith(prefix) ? set.slice(prefix.length) : set;
}

/** Each keeps its number if that is free, and takes the lowest free one otherwise. */
function inSet(
  owner: Omit<MachineOwner, "ordinal">,
  moving: readonly ExpandedMachine[],
  others: readonly ExpandedMachine[],
): [string, MachineOwner][] {
  const members = others.filter(
    (machine) =>
      machine.owner?.machineSet === owner.machineSet &&
      machine.owner.machineDeployment === owner.machineDeployment,
  );
  const taken = new Set(members.map((machine) => machine.owner?.ordinal ?? 0));
  return moving.map((machine) => {
    let ordinal = machine.owner?.ordinal ?? 0;
    if (taken.has(ordinal)) for (ordinal = 0; taken.has(ordinal); ordinal += 1);
    taken.add(ordinal);
    return [machine.name, { ...owner, ordinal }];
  });
}

function isOf({ kind, name }: MachineGroup, machine: ExpandedMachine): boolean {
  const { owner } = machine;
  switch (kind) {
    case "Machine":
      return machine.name === name;
    case "MachineSet":
      return owner?.machineSet === name && owner.machineDeployment === undefined;
    case "MachineDeployment":
      return owner?.machineDeployment === name;
  }
}

function refuseMoves(
  moves: readonly OwnerMove[],
  machines: readonly ExpandedMachine[],
  desired: Desired,
): void {
  const refusals = moves.flatMap((move) => {
    const reason = refusalOf(move, moves, { machines, desired });
    return reason === undefined ? [] : [`cannot move ${moveText(move)}: ${reason}`];
  });
  if (refusals.length === 0) return;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: refusals.join("\n"),
    hint: "capstan state list shows the machines and whose they are; nothing was changed",
  });
}

function refusalOf(
  { from, to }: OwnerMove,
  moves: readonly OwnerMove[],
  about: { readonly machines: readonly ExpandedMachine[]; readonly desired: Desired },
): string | undefined {
  if (to.kind === "Machine") {
    return "a machine keeps its name; it can go to a MachineSet or a MachineDeployment";
  }
  if (sameJson({ ...from }, { ...to })) return "it is there already";
  const objects =
    to.kind === "MachineSet" ? about.desired.machineSets : about.desired.machineDeployments;
  if (!objects.some(({ metadata }) => metadata.name === to.name)) {
    return `the manifests hold no ${to.kind} ${to.name}`;
  }
  const moving = about.machines.filter((machine) => isOf(from, machine));
  if (moving.length === 0) return `no machine of ${groupText(from)} is recorded`;
  if (moving.every((machine) => isOf(to, machine))) return "it is there already";
  const own = moving.find(({ name }) =>
    about.desired.machines.some(({ metadata }) => metadata.name === name),
  );
  if (own !== undefined) {
    return `the manifests hold Machine ${own.name} itself; take it out of them first`;
  }
  const twice = moving.find((machine) => moves.filter((one) => isOf(one.from, machine)).length > 1);
  return twice === undefined ? undefined : `Machine ${twice.name} is to go to two places`;
}
