import { counted, wordFor } from "../api/counted.js";
import type { MachineDeploymentObject } from "../api/types.js";
import type { Plan } from "../plan/plan.js";
import { planCounts } from "../plan/changes/tree.js";
import { isRollingUpdate, maxSurgeOf, maxUnavailableOf } from "../sets/fenceposts.js";

/** What a plain `pulumi up` says about a plan: it carries it out in one go, whatever its waves are. Pure. */
export function inlineNotes(plan: Plan): string[] {
  if (plan.empty) return [];
  const counts = planCounts(plan);
  const order =
    counts === "" ? "nothing to change" : `${counts}; all that is new first, deletions last`;
  const stage = plan.stage === undefined ? [] : [plan.stage];
  return [
    `Plan: ${order}`,
    ...plan.target.objects.flatMap((object) =>
      object.kind === "MachineDeployment" ? crowdingOf(object, plan) : [],
    ),
    ...stage.map(
      ({ number, count, reason }) =>
        `This is stage ${number} of ${count}: ${reason}; the same command again goes on`,
    ),
  ];
}

/** What a preview says about values that nobody knows yet, by name. Pure. */
export function unknownNotes(names: readonly string[]): string[] {
  if (names.length === 0) return [];
  const which = `${names.join(", ")} ${wordFor(names.length, "is", "are")} known after apply`;
  return [
    `${which}: what is recorded is planned as if it stayed, what depends on a value is shown as unknown, and names that are made from it are settled then`,
  ];
}

/** Where one go is more than the bounds of a deployment allow at once. */
function crowdingOf({ metadata, spec }: MachineDeploymentObject, plan: Plan): string[] {
  if (!isRollingUpdate(spec) || plan.fromRevision === 0) return [];
  const isOurs = (one: { readonly owner?: { readonly machineDeployment?: string } }) =>
    one.owner?.machineDeployment === metadata.name;
  const wanted = plan.target.machines.filter(isOurs);
  const hosts = wanted.length + plan.leaving.filter(isOurs).length;
  const changed = new Set(plan.steps.flatMap(({ kind, key }) => (kind === "update" ? [key] : [])));
  const inPlace = wanted.filter(({ host }) => changed.has(host)).length;
  const most = wanted.length + maxSurgeOf(spec);
  const atOnce = Math.max(1, maxUnavailableOf(spec));
  const instead = "capstan up goes in waves";
  return [
    ...(hosts > most && hosts > wanted.length
      ? [
          `MachineDeployment ${metadata.name} will have ${counted(hosts, "host")} for a while, ${most} are allowed; ${instead}`,
        ]
      : []),
    ...(inPlace > atOnce
      ? [
          `MachineDeployment ${metadata.name}: ${counted(inPlace, "machine")} ${wordFor(inPlace, "changes", "change")} at once, ${atOnce} may; ${instead}`,
        ]
      : []),
  ];
}
