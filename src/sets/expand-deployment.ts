import type { DomainOffer } from "../api/failure-domains.js";
import type {
  Expanded,
  ExpandedMachine,
  RecordedMachine,
  TemplateJudge,
  ResolvedMachineDeployment,
} from "./expanded.js";
import { goFirst, isStanding, membersOf, namesFromElsewhere } from "./expand-set.js";
import { isRollingUpdate } from "./fenceposts.js";
import { planRollout, type RolloutSet } from "./rollout.js";

interface Expansion {
  readonly judge: TemplateJudge;
  readonly nowMs: number;
  readonly domains: DomainOffer | undefined;
}

/**
 * The machines that a MachineDeployment comes to in the end: all of them in the set of its template; or
 * spread over several sets where it is paused, or leaves old machines to whoever deletes them. Pure.
 */
export function expandDeployment(
  deployment: ResolvedMachineDeployment,
  recorded: readonly RecordedMachine[],
  { judge, nowMs, domains }: Expansion,
): Expanded {
  const { name } = deployment.metadata;
  const ours = recorded.filter(({ owner }) => owner?.machineDeployment === name);
  const current = currentSet(deployment, ours, judge);
  const rolls = isRollingUpdate(deployment.spec) && !deployment.spec.paused;
  const sizes = rolls
    ? new Map([[current, deployment.spec.replicas]])
    : sizesOf(deployment, ours, current);
  const standing = ours.filter(isStanding);
  const expanded = [...sizes].map(([machineSet, replicas]) => {
    const existing = ours.filter(({ owner }) => owner?.machineSet === machineSet);
    const isOld = machineSet !== current || deployment.spec.paused;
    const template = isOld ? existing.at(-1) : undefined;
    return membersOf({
      owner: { machineSet, machineDeployment: name },
      replicas,
      template: template ?? { spec: deployment.spec.template.spec },
      existing,
      taken: namesFromElsewhere(recorded, machineSet),
      keepSpec: !rolls,
      goFirst: {
        ...goFirst(deployment),
        nowMs,
        domains,
        besides: standing
          .filter(
            ({ owner }) => owner?.machineSet !== machineSet && sizes.has(owner?.machineSet ?? ""),
          )
          .flatMap(({ failureDomain }) => failureDomain ?? []),
      },
    });
  });
  return {
    machines: expanded.flatMap(({ machines }) => machines),
    going: expanded.flatMap(({ going }) => going),
  };
}

/** The recorded set whose machines can all follow the template (the newest such), or a new one. */
export function currentSet(
  deployment: ResolvedMachineDeployment,
  ours: readonly ExpandedMachine[],
  judge: TemplateJudge,
): string {
  const setNames = setNamesOf(ours);
  const following = setNames.findLast((name) =>
    ours
      .filter(({ owner }) => owner?.machineSet === name)
      .every((machine) => judge.canFollow(deployment, machine)),
  );
  return following ?? freshName(`${deployment.metadata.name}-${judge.hash(deployment)}`, setNames);
}

function setNamesOf(machines: readonly ExpandedMachine[]): string[] {
  return [...new Set(machines.map(({ owner }) => owner?.machineSet ?? ""))];
}

/**
 * The hash leaves out what may change in place, so an old set can have the name already. A number alone
 * would read as one of that set's machines.
 */
export function freshName(name: string, taken: readonly string[]): string {
  if (!taken.includes(name)) return name;
  for (let round = 2; ; round += 1) {
    if (!taken.includes(`${name}-r${round}`)) return `${name}-r${round}`;
  }
}

/** How many machines each set has after Cluster API's planner: sets in the order in which they were made. */
function sizesOf(
  deployment: ResolvedMachineDeployment,
  ours: readonly RecordedMachine[],
  current: string,
): Map<string, number> {
  const { spec } = deployment;
  const { profile } = goFirst(deployment);
  const standing = ours.filter(isStanding);
  const known = setNamesOf(standing);
  // A paused deployment makes no set for a template that it does not roll out.
  const names = spec.paused || known.includes(current) ? known : [...known, current];
  const sets = names.map((name, index): RolloutSet => {
    const members = standing.filter(({ owner }) => owner?.machineSet === name);
    return {
      name,
      isNew: name === current,
      createdAtMs: index,
      replicas: members.length,
      machines: members.map((machine) => ({
        name: machine.name,
        deleting: false,
        ready: machine.missing === undefined,
        available: machine.missing === undefined,
      })),
    };
  });
  const { scale } = planRollout({ deployment: spec, sets, profile });
  return new Map(sets.map(({ name, replicas }) => [name, scale.get(name) ?? replicas]));
}
