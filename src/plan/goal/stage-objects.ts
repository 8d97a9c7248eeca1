import type { Desired } from "../../api/types.js";
import type { ExpandedMachine } from "../../sets/expanded.js";
import type { Stage } from "../plan.js";
import { stagesOf } from "./upgrade.js";
import { type VersionRefusal, versionRefusals } from "./version-rules.js";

/** A stage with the objects that bring it about. */
export interface StagedObjects {
  readonly stage: Stage;
  readonly desired: Desired;
}

type UpgradePlan =
  | { readonly kind: "refused"; readonly refusals: readonly VersionRefusal[] }
  /** At least one; the objects of the last are the wanted ones. */
  | { readonly kind: "stages"; readonly stages: readonly StagedObjects[] };

/** What an upgrade is planned from. */
interface UpgradeQuestion {
  readonly desired: Desired;
  /** The machines that the objects come to. */
  readonly wanted: readonly ExpandedMachine[];
  /** The machines of the last committed revision. */
  readonly running: readonly ExpandedMachine[];
}

/**
 * How objects get a cluster from the versions that run to those they ask for. Asked again after a stage
 * it answers with those that are left. Pure.
 */
export function planUpgrade({ desired, wanted, running }: UpgradeQuestion): UpgradePlan {
  const refusals = versionRefusals(running, wanted);
  if (refusals.length > 0) return { kind: "refused", refusals };
  const stages = stagesOf(running, wanted);
  return {
    kind: "stages",
    stages: stages.map((stage) => ({ stage, desired: objectsAt(stage, desired, running) })),
  };
}

/**
 * The objects with the versions of a stage. What is new waits for the last one: it could not join, and
 * a MachineSet's machines would keep what they were made with. Everything else is as it is wanted. Pure.
 */
function objectsAt(
  { versions }: Stage,
  desired: Desired,
  running: readonly ExpandedMachine[],
): Desired {
  if (versions === undefined) return desired;
  const membersOf = (set: string) =>
    running.filter(
      ({ owner }) => owner?.machineSet === set && owner.machineDeployment === undefined,
    ).length;
  return {
    ...desired,
    machines: desired.machines.flatMap((machine) => {
      const own = versions[`Machine ${machine.metadata.name}`];
      return own === undefined ? [] : [{ ...machine, spec: { ...machine.spec, versions: own } }];
    }),
    machineSets: desired.machineSets.map((set) => ({
      ...set,
      spec: { ...set.spec, replicas: Math.min(set.spec.replicas, membersOf(set.metadata.name)) },
    })),
    machineDeployments: desired.machineDeployments.flatMap((deployment) => {
      const own = versions[`MachineDeployment ${deployment.metadata.name}`];
      if (own === undefined) return [];
      const { template } = deployment.spec;
      const spec = { ...template.spec, versions: own };
      return [{ ...deployment, spec: { ...deployment.spec, template: { ...template, spec } } }];
    }),
  };
}
