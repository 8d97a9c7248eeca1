import { type DomainOffer, isDomainNamed, namedDomain } from "../api/failure-domains.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { isControlPlane } from "../api/types.js";
import type { ExpandedMachine } from "./expanded.js";
import { inNameOrder } from "./name-order.js";

/** How many machines are where. */
type Counts = Map<string, number>;

/**
 * The machines, each with the failure domain that it is in where it does not name one itself. A machine stays where
 * `known` has it for as long as that is offered. Any other goes where the fewest of its group are, then where
 * the fewest of the cluster are, then to what is offered first. A group is the control plane, a MachineDeployment, a
 * MachineSet, or all workers that users wrote. Only machines of the list count, and those that name a domain count too.
 * The order of the list decides nothing. Pure.
 */
export function placeMachines(
  machines: readonly ExpandedMachine[],
  known: ReadonlyMap<string, string>,
  { field, domains }: DomainOffer,
): ExpandedMachine[] {
  const placed = new Map<string, string>();
  const all: Counts = new Map();
  const groups = new Map<string, Counts>();
  const count = (machine: ExpandedMachine, domain: string | undefined) => {
    if (domain === undefined) return;
    const group = groupOf(machine);
    const ofGroup: Counts = groups.get(group) ?? new Map<string, number>();
    groups.set(group, ofGroup);
    for (const counts of [all, ofGroup]) counts.set(domain, (counts.get(domain) ?? 0) + 1);
    if (!isDomainNamed(machine.spec, field)) placed.set(machine.name, domain);
  };
  for (const machine of machines) {
    const kept = known.get(machine.name);
    const isKept = kept !== undefined && domains.includes(kept);
    if (isDomainNamed(machine.spec, field)) count(machine, namedDomain(machine.spec, field));
    else if (isKept) count(machine, kept);
  }
  const waiting = machines.filter(
    ({ name, spec }) => !placed.has(name) && !isDomainNamed(spec, field),
  );
  for (const machine of waiting.sort(inPlacingOrder)) {
    const ofGroup = groups.get(groupOf(machine));
    count(machine, emptiest(domains, [ofGroup ?? new Map<string, number>(), all]));
  }
  return machines.map((machine) =>
    omitUndefined({ ...machine, failureDomain: placed.get(machine.name) }),
  );
}

/** The domain with the fewest by the first counts; by the next where they are equal; else the first. */
function emptiest(domains: readonly string[], counts: readonly Counts[]): string | undefined {
  const fewest = counts.reduce<readonly string[]>((left, one) => {
    const least = Math.min(...left.map((domain) => one.get(domain) ?? 0));
    return left.filter((domain) => (one.get(domain) ?? 0) === least);
  }, domains);
  return fewest[0];
}

/** Whose machines are spread among themselves. The control plane comes first, then workers that users wrote. */
function groupOf({ spec, owner }: ExpandedMachine): string {
  if (isControlPlane(spec)) return "0";
  if (owner === undefined) return "1";
  const { machineDeployment, machineSet } = owner;
  return machineDeployment === undefined ? `2 ${machineSet}` : `3 ${machineDeployment}`;
}

function inPlacingOrder(left: ExpandedMachine, right: ExpandedMachine): number {
  return (
    inNameOrder(groupOf(left), groupOf(right)) ||
    inNameOrder(left.owner?.machineSet ?? "", right.owner?.machineSet ?? "") ||
    (left.owner?.ordinal ?? 0) - (right.owner?.ordinal ?? 0) ||
    inNameOrder(left.name, right.name)
  );
}
