import type { KeyStage } from "../../api/key-stage.js";
import type { ClusterObject } from "../../api/types.js";
import { misfitLookup } from "../../bootstrap/host/fitting.js";
import { machineToCompile } from "../../compile/compile.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import type { DecidedHost } from "../decisions/decided.js";
import { type Refusal, RefusedChange } from "../refused-change.js";

/**
 * Throws UNSUPPORTED_CHANGE of all hosts that are to be made although no user data can be made for them, or none that
 * their cloud takes. Machines whose hosts stand are left alone, whatever this release would make for them. Pure.
 */
export function refuseMisfits(
  cluster: ClusterObject,
  provider: InfrastructureProvider,
  hosts: readonly DecidedHost[],
  stage: KeyStage,
): void {
  const { userData } = provider;
  if (userData === undefined) return;
  const misfitOf = misfitLookup(cluster, userData, stage);
  const refusals = hosts
    .filter(({ decision: { kind } }) => kind === "create" || kind === "replace")
    .flatMap(({ machine }): Refusal[] => {
      const misfit = misfitOf(machineToCompile(provider, machine));
      if (misfit === undefined) return [];
      return [{ subject: `Machine ${machine.name}`, verb: "make a host of", machine, ...misfit }];
    });
  if (refusals.length === 0) return;
  throw new RefusedChange(refusals, "capstan render shows what a host would be given");
}
