import { signerOf } from "../../api/key-stage.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { NodeKey } from "../../graph/graph.js";
import { isLost } from "../../provider/failure.js";
import { inNameOrder } from "../../sets/name-order.js";
import { machineOfKey, type Target } from "../../records/target.js";
import type { ObservedResources } from "../observation.js";
import { cloudResources, type PriorState, knownMachines } from "../../records/prior-state.js";
import { stageOf, stageOfHost } from "../../records/recorded-keys.js";
import type { LeavingHost } from "../plan.js";

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
  const signer = signerOf(stageOf(target));
  const serving = new Set(prior.revision?.target.machines.map(({ host }) => host));
  const hosts = cloudResources(prior).flatMap(({ key, parent }): LeavingHost[] => {
    const observed = observedResources.get(key);
    const name = parent && machineOfKey(parent);
    if (!toDelete.has(key) || name === undefined || observed === "gone") return [];
    const { owner, controlPlane = false } = machines.get(name) ?? {};
    const createdAtMs = observed?.createdAtMs;
    return [
      omitUndefined({
        host: key,
        machine: name,
        controlPlane,
        serves: serving.has(key),
        failed: observed !== undefined && isLost(observed),
        signsOtherwise:
          controlPlane && signerOf(stageOfHost(prior, key)) !== signer ? true : undefined,
        owner,
        createdAtMs,
      }),
    ];
  });
  return hosts.sort((left, right) => inNameOrder(left.host, right.host));
}
