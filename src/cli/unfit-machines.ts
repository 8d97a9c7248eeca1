import { omitUndefined } from "../api/omit-undefined.js";
import { providerOf } from "../api/served-versions.js";
import type { Desired } from "../api/types.js";
import { misfitLookup } from "../bootstrap/host/fitting.js";
import { machineToCompile } from "../compile/compile.js";
import type { Manifests } from "../manifest/desired.js";
import type { Diagnostic } from "../manifest/diagnostic.js";
import { describe, machineSpecsIn } from "../manifest/object-parts.js";
import type { InfrastructureProvider } from "../provider/port.js";
import { owningObjects } from "../sets/owning-objects.js";
import { machinesOf } from "./machines-of.js";

/**
 * What no host can be made of: no user data can be made for it, or none that its cloud takes. Once for all machines of
 * a set. Pure.
 */
export function unfitMachines(
  { clusters, positionOf }: Pick<Manifests, "clusters" | "positionOf">,
  providers: readonly InfrastructureProvider[],
): Diagnostic[] {
  return clusters.flatMap((desired) => unfitIn(desired, positionOf, providers));
}

function unfitIn(
  desired: Desired,
  positionOf: Manifests["positionOf"],
  providers: readonly InfrastructureProvider[],
): Diagnostic[] {
  const { cluster, machines, machineSets, machineDeployments } = desired;
  const provider = providerOf(cluster, providers);
  const { userData } = provider;
  if (userData === undefined) return [];
  const misfitOf = misfitLookup(cluster, userData);
  const ownerOf = owningObjects([...machines, ...machineSets, ...machineDeployments]);
  const unfit = new Map<string, Diagnostic>();
  for (const machine of machinesOf(desired, providers)) {
    const misfit = misfitOf(machineToCompile(provider, machine));
    const object = ownerOf(machine);
    if (misfit === undefined || object === undefined) continue;
    const [place] = machineSpecsIn(object);
    const path = [...(place?.path ?? []), ...misfit.member];
    const subject = describe(object);
    const diagnostic = omitUndefined<Diagnostic>({
      code: "USER_DATA",
      severity: "error",
      position: positionOf(object, path) ?? { file: subject },
      subject,
      path: path.join("."),
      summary: `no host can be made: ${misfit.reason}`,
      hint: "capstan render shows what a host would be given",
    });
    unfit.set(`${subject}: ${misfit.reason}`, diagnostic);
  }
  return [...unfit.values()];
}
