import type { Desired } from "../api/types.js";
import { expandDeployment } from "./expand-deployment.js";
import { expandSet } from "./expand-set.js";
import { placeMachines } from "./placement.js";
import { chooseVersions } from "./versions.js";
import type { ExpandedMachine, RecordedMachine, Expanded, TemplateJudge } from "./expanded.js";

/**
 * Every Machine of a cluster: users' own first, then those of MachineSets, then those of
 * MachineDeployments, each in document order and by ordinal. Pure, and the same inputs give the
 * same names. `recorded` are the machines of the last transaction, and others that still have hosts.
 *
 * A MachineSet's machine keeps the spec it was made with (a set's template is for new machines); a
 * MachineDeployment keeps its MachineSet as long as every machine of it can follow the template in
 * place, and gets a new one otherwise. Where failure domains are offered, each has one that does not name one itself.
 * Source: docs/cluster-api.md#rollouts.
 */
export function expandObjects(
  desired: Desired,
  recorded: readonly RecordedMachine[],
  judge: TemplateJudge,
  nowMs = 0,
): Expanded {
  const { domains } = judge;
  const resolved = chooseVersions(desired, recorded, judge.offers);
  const own = resolved.machines.map(({ metadata, spec }) => ({ name: metadata.name, spec }));
  const sets = [
    ...resolved.machineSets.map((set) => expandSet(set, recorded, { nowMs, domains })),
    ...resolved.machineDeployments.map((deployment) =>
      expandDeployment(deployment, recorded, { judge, nowMs, domains }),
    ),
  ];
  const machines = [...own, ...sets.flatMap((set) => set.machines)];
  return {
    machines:
      domains === undefined
        ? machines
        : placeMachines(machines, knownDomains(recorded, judge), domains),
    going: sets.flatMap(({ going }) => going),
  };
}

/** What is recorded goes before what was found. */
function knownDomains(
  recorded: readonly RecordedMachine[],
  { foundDomains = new Map<string, string>() }: TemplateJudge,
): ReadonlyMap<string, string> {
  const own = recorded.flatMap(({ name, failureDomain }): [string, string][] =>
    failureDomain === undefined ? [] : [[name, failureDomain]],
  );
  return new Map([...foundDomains, ...own]);
}

/** The machines of `expandObjects`. Pure. */
export function expandMachines(...given: Parameters<typeof expandObjects>): ExpandedMachine[] {
  return [...expandObjects(...given).machines];
}
