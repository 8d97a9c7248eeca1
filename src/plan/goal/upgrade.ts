import { sameJson } from "../../api/json.js";
import type { MachineVersions } from "../../api/types.js";
import {
  isKnownVersion,
  minorOf,
  minorsBehindAllowed,
  newestPatch,
  newestVersion,
  oldestVersion,
} from "../../api/versions.js";
import { controlPlanesOf, type VersionedMachine } from "./version-rules.js";
import type { VersionChange, Stage } from "../plan.js";

/** Why the last stage of several is one. */
export const lastStageReason = "all that is asked for";

/** What changes its versions together, by unit. */
type Units = ReadonlyMap<string, MachineVersions>;

/**
 * What a machine changes its versions with: a MachineDeployment's machines do together, a
 * MachineSet's keep what they were made with. Pure.
 */
export function unitOf({ name, owner }: Pick<VersionedMachine, "name" | "owner">): string {
  return owner?.machineDeployment === undefined
    ? `Machine ${name}`
    : `MachineDeployment ${owner.machineDeployment}`;
}

/**
 * The stages from recorded to wanted machines, where the rules allow it (src/plan/goal/version-rules). The
 * control plane goes one minor version at a time, through the newest patch that this release knows of
 * each in between. Workers follow where the next version would leave them too far behind, and in the
 * last stage, which brings all that is wanted. Pure. What a stage has brought about is not planned again.
 */
export function stagesOf(
  from: readonly VersionedMachine[],
  to: readonly VersionedMachine[],
): Stage[] {
  const wanted = unitsIn(to);
  const stages: Stage[] = [];
  let now: Units = new Map([...unitsIn(from)].filter(([unit]) => wanted.has(unit)));
  const recorded = oldestVersion(controlPlanesOf(from)) ?? "";
  const begin = minorOf(recorded);
  const goal = minorOf(newestVersion(controlPlanesOf(to)) ?? "");
  for (let minor = begin ?? Infinity; minor < (goal ?? -Infinity); minor += 1) {
    const raised = withControlPlaneAt(minor, now, wanted);
    const ceiling = oldestVersion(membersIn(raised)) ?? recorded;
    const followed = withinReachOf(minor + 1, ceiling, { now: raised, wanted });
    const changes = changesBetween(now, followed);
    if (changes.length === 0) continue;
    const reason = [
      ...controlPlaneReason(changesBetween(now, raised), minor),
      ...followersReason(changesBetween(raised, followed), minor + 1),
    ].join("; ");
    now = followed;
    stages.push({ changes, versions: Object.fromEntries(now), reason });
  }
  const reason = stages.length === 0 ? "" : lastStageReason;
  return [...stages, { changes: changesBetween(now, wanted), reason }];
}

/** Control-plane machines that are behind a minor version, brought there with their kubelets. */
function withControlPlaneAt(minor: number, now: Units, wanted: Units): Units {
  return mapped(now, (versions, unit) => {
    const goal = wanted.get(unit);
    if (versions.controlPlane === undefined || goal?.controlPlane === undefined) return versions;
    if ((minorOf(versions.controlPlane) ?? minor) >= minor) return versions;
    const controlPlane = older(goal.controlPlane, newestPatch(minor));
    const kubelet = newer(versions.kubelet, older(goal.kubelet, controlPlane));
    return { ...versions, controlPlane, kubelet };
  });
}

/** Kubelets that a minor version of the control plane would leave behind, as new as the present one allows. */
function withinReachOf(
  minor: number,
  ceiling: string,
  { now, wanted }: { readonly now: Units; readonly wanted: Units },
): Units {
  return mapped(now, (versions, unit) => {
    const behind = minor - (minorOf(versions.kubelet) ?? minor);
    const goal = wanted.get(unit)?.kubelet;
    if (behind <= minorsBehindAllowed(minor) || goal === undefined) return versions;
    return { ...versions, kubelet: newer(versions.kubelet, older(goal, ceiling)) };
  });
}

function controlPlaneReason([first]: readonly VersionChange[], minor: number): string[] {
  if (first === undefined) return [];
  const { from, to } = first;
  const version = newestPatch(minor);
  const how =
    to.controlPlane !== version
      ? "as it is asked for"
      : isKnownVersion(version)
        ? "the newest patch known"
        : "its first patch, as none is known";
  const step = `control plane ${from.controlPlane ?? ""} -> ${to.controlPlane ?? ""} (${how})`;
  return [`${step}: one minor version at a time`];
}

function followersReason(changes: readonly VersionChange[], minor: number): string[] {
  if (changes.length === 0) return [];
  const units = changes.map(({ unit }) => unit).join(", ");
  const allowed = minorsBehindAllowed(minor);
  return [`${units}: the next control plane takes kubelets of ${allowed} minor versions before it`];
}

/** By unit, in the order of the machines; of a rollout that is under way, its oldest kubelet. */
function unitsIn(machines: readonly VersionedMachine[]): Units {
  const units = new Map<string, MachineVersions>();
  for (const machine of machines) {
    const { versions } = machine.spec;
    const unit = unitOf(machine);
    const known = units.get(unit) ?? versions;
    const isOlder = older(versions.kubelet, known.kubelet) !== known.kubelet;
    units.set(unit, isOlder ? versions : known);
  }
  return units;
}

function membersIn(units: Units): string[] {
  return [...units.values()].flatMap(({ controlPlane }) => controlPlane ?? []);
}

function changesBetween(from: Units, to: Units): VersionChange[] {
  return [...from].flatMap(([unit, before]) => {
    const after = to.get(unit) ?? before;
    return sameJson(before, after) ? [] : [{ unit, from: before, to: after }];
  });
}

function mapped(
  units: Units,
  change: (versions: MachineVersions, unit: string) => MachineVersions,
): Units {
  return new Map([...units].map(([unit, versions]) => [unit, change(versions, unit)]));
}

function older(left: string, right: string): string {
  return oldestVersion([left, right]) ?? left;
}

function newer(left: string, right: string): string {
  return newestVersion([left, right]) ?? left;
}
