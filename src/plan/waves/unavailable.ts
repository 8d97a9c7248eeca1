import type { NodeKey } from "../../graph/graph.js";
import type { Plan } from "../plan.js";
import { isQuiet } from "../step.js";
import type { TargetMachine } from "../../records/target.js";

/**
 * How many machines are missing at worst while the waves go by, of those that there are before and
 * after: old ones that go before new ones serve, and those that may not serve while they are changed in place. Pure.
 */
export function mostUnavailable(plan: Plan): number {
  const groups = groupsOf(plan);
  const loud = plan.steps.filter((step) => !isQuiet(step));
  const kinds = new Map(loud.map(({ key, kind }) => [key, kind]));
  let most = 0;
  for (const { keys } of plan.waves) {
    let missing = 0;
    for (const group of groups) {
      const ours = keys.filter((key) => group.hosts.has(key));
      const count = (kind: string) => ours.filter((key) => kinds.get(key) === kind).length;
      // What a wave makes serves only after what it deletes is gone.
      group.present -= count("delete");
      missing += Math.max(group.needed - group.present + count("update"), 0);
      group.present += count("create");
    }
    most = Math.max(most, missing);
  }
  return most;
}

/** Machines that stand in for one another. */
interface UnavailableGroup {
  readonly hosts: ReadonlySet<NodeKey>;
  /** As many as there are both before and after. */
  readonly needed: number;
  present: number;
}

function groupsOf({ target, leaving, steps }: Plan): UnavailableGroup[] {
  const made = new Set(steps.filter(({ kind }) => kind === "create").map(({ key }) => key));
  const names = new Set([...target.machines, ...leaving].map(groupOf));
  return [...names].map((name) => {
    const wanted = target.machines.filter((machine) => groupOf(machine) === name);
    const old = leaving.filter((host) => groupOf(host) === name);
    const present = wanted.filter(({ host }) => !made.has(host)).length + old.length;
    return {
      hosts: new Set([...wanted, ...old].map(({ host }) => host)),
      needed: Math.min(wanted.length, present),
      present,
    };
  });
}

function groupOf(
  one: Pick<TargetMachine, "controlPlane" | "owner"> & { name?: string; machine?: string },
) {
  if (one.controlPlane) return "control plane";
  const { owner } = one;
  if (owner?.machineDeployment !== undefined) return `deployment ${owner.machineDeployment}`;
  return owner === undefined
    ? `machine ${one.name ?? one.machine ?? ""}`
    : `set ${owner.machineSet}`;
}
