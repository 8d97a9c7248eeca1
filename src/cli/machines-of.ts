import { providerOf } from "../api/served-versions.js";
import type { Desired, MachineDeploymentObject, MachineSetObject } from "../api/types.js";
import { compiled } from "../plan/goal/compiled-goal.js";
import type { InfrastructureProvider } from "../provider/port.js";
import type { ExpandedMachine } from "../sets/expanded.js";
import { inNameOrder } from "../sets/name-order.js";

/**
 * The machines of a cluster in the order of their names, as if nothing existed yet; a set that wants none has one, so
 * that its template can be seen. Pure.
 */
export function machinesOf(
  desired: Desired,
  providers: readonly InfrastructureProvider[],
): readonly ExpandedMachine[] {
  const atLeastOne = <O extends MachineSetObject | MachineDeploymentObject>(set: O): O => ({
    ...set,
    spec: { ...set.spec, replicas: Math.max(set.spec.replicas, 1) },
  });
  const shown: Desired = {
    ...desired,
    machineSets: desired.machineSets.map(atLeastOne),
    machineDeployments: desired.machineDeployments.map(atLeastOne),
  };
  const provider = providerOf(desired.cluster, providers);
  const { machines } = compiled(shown, provider, { recorded: [], nowMs: 0 });
  return machines.toSorted((left, right) => inNameOrder(left.name, right.name));
}
