import { CapstanError } from "../api/error.js";
import { clusterNameOf, type Desired, isControlPlane } from "../api/types.js";
import { nearest } from "../api/validate.js";
import { bootstrapKindOf, type BootstrapKind } from "../bootstrap/host/member-role.js";
import type { InfrastructureProvider } from "../provider/port.js";
import type { ExpandedMachine } from "../sets/expanded.js";
import { machinesOf } from "./machines-of.js";

/** A machine of some manifests, and what its host does first in a cluster that does not exist yet. */
export interface FoundMachine {
  readonly desired: Desired;
  readonly machine: ExpandedMachine;
  readonly kind: BootstrapKind;
}

/**
 * The machine of that name, or one of the set or deployment of that name: its template. Throws NOT_FOUND, and
 * INVALID_INPUT where several clusters have one.
 */
export function machineNamed(
  name: string,
  clusters: readonly Desired[],
  providers: readonly InfrastructureProvider[],
): FoundMachine {
  const all = clusters.map((desired) => ({ desired, machines: machinesOf(desired, providers) }));
  const found = all.flatMap(({ desired, machines }): FoundMachine[] => {
    const machine = machines.find((one) => isNamed(name, one));
    if (machine === undefined) return [];
    return [{ desired, machine, kind: kindOf(machine, machines) }];
  });
  const [only, ...others] = found;
  if (only === undefined)
    throw notThere(
      name,
      all.flatMap(({ machines }) => machines),
    );
  if (others.length > 0) throw severalThere(name, found);
  return only;
}

function isNamed(name: string, machine: ExpandedMachine): boolean {
  return namesOf(machine).includes(name);
}

function namesOf({ name, owner }: ExpandedMachine): string[] {
  return [name, owner?.machineDeployment, owner?.machineSet].filter((one) => one !== undefined);
}

/** The first member begins the cluster, and all others join it. */
function kindOf(machine: ExpandedMachine, machines: readonly ExpandedMachine[]): BootstrapKind {
  const [first] = machines.filter(({ spec }) => isControlPlane(spec));
  return bootstrapKindOf({
    controlPlane: isControlPlane(machine.spec),
    hasOtherMember: first !== machine,
    hasRun: false,
  });
}

function notThere(name: string, machines: readonly ExpandedMachine[]): CapstanError {
  const names = [...new Set(machines.flatMap(namesOf))];
  const near = nearest(name, names);
  const shown = names.slice(0, 10).join(", ");
  const known = names.length === 0 ? "these manifests have no machine" : `known: ${shown}`;
  return new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    message: `these manifests have no machine and no set called ${name}`,
    hint: near === undefined ? known : `did you mean ${near}?`,
  });
}

function severalThere(name: string, found: readonly FoundMachine[]): CapstanError {
  const clusters = found.map(({ desired }) => clusterNameOf(desired.cluster)).join(", ");
  return new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: `several clusters have a machine or a set called ${name}: ${clusters}`,
    hint: "name the manifests of one cluster with -f",
  });
}
