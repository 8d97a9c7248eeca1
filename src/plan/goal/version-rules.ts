import semver from "semver";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { MachineVersions } from "../../api/types.js";
import { minorsBetween, newestVersion, oldestVersion, skewOf } from "../../api/versions.js";
import type { ExpandedMachine, MachineOwner } from "../../sets/expanded.js";
import { RefusedChange } from "../refused-change.js";

/** A machine with its versions, as it is recorded or as it is wanted. */
export type VersionedMachine = Pick<ExpandedMachine, "name" | "owner"> & {
  readonly spec: { readonly versions: MachineVersions };
};

/**
 * Why a machine cannot have the versions that are wanted. Container runtimes and OS images go both
 * ways, and so does the patch version of a control plane.
 */
export interface VersionRefusal {
  readonly kind:
    | "controlPlaneDowngrade"
    | "controlPlaneSkips"
    | "controlPlanesApart"
    | "kubeletNewer"
    | "kubeletTooOld";
  readonly machine: string;
  readonly owner?: MachineOwner;
  readonly reason: string;
}

/**
 * Why `to` cannot follow `from`, in however many stages (src/plan/goal/upgrade), in the order of the
 * machines; empty: it can. `from` are the recorded machines, `to` those that are wanted. Pure.
 */
export function versionRefusals(
  from: readonly VersionedMachine[],
  to: readonly VersionedMachine[],
): VersionRefusal[] {
  return [...controlPlaneRefusals(from, to), ...kubeletRefusals(to)];
}

/** Throws UNSUPPORTED_CHANGE with all of them at once, if there are any. */
export function refuseVersions(refusals: readonly VersionRefusal[]): void {
  if (refusals.length === 0) return;
  const hints = [...new Set(refusals.map(({ kind }) => remedies[kind]))];
  throw new RefusedChange(
    refusals.map(({ kind, machine, owner, reason }) => ({
      subject: `Machine ${machine}`,
      reason,
      machine: omitUndefined({ name: machine, owner }),
      member: ["versions", kind.startsWith("kubelet") ? "kubelet" : "controlPlane"],
    })),
    `nothing was touched; ${hints.join("; ")}`,
  );
}

/** The next action, for each refusal. */
const remedies: Readonly<Record<VersionRefusal["kind"], string>> = {
  controlPlaneDowngrade: "a control plane goes back to older patches only",
  controlPlaneSkips: "raise the machines that are there first, then put others in their place",
  controlPlanesApart: "give all control-plane machines one version",
  kubeletNewer: "raise the control plane first",
  kubeletTooOld: "raise the kubelet, or replace a MachineSet that keeps it",
};

/** The control-plane versions of some machines, in their order. Pure. */
export function controlPlanesOf(machines: readonly VersionedMachine[]): string[] {
  return machines.flatMap(({ spec }) => spec.versions.controlPlane ?? []);
}

/** Source: https://kubernetes.io/releases/version-skew-policy/; docs/cluster-api.md#control-planes. */
function controlPlaneRefusals(
  from: readonly VersionedMachine[],
  to: readonly VersionedMachine[],
): VersionRefusal[] {
  const recorded = new Map(from.map(({ name, spec }) => [name, spec.versions.controlPlane]));
  const [oldest, newest] = [oldestVersion, newestVersion].map((of) => of(controlPlanesOf(from)));
  const goal = newestVersion(controlPlanesOf(to));
  const staysOne = to.some(({ name }) => recorded.get(name) !== undefined);
  return to.flatMap(({ name, owner, spec }): VersionRefusal[] => {
    const own = spec.versions.controlPlane;
    if (own === undefined || goal === undefined) return [];
    const refusal = (kind: VersionRefusal["kind"], why: string): VersionRefusal[] => [
      { kind, ...machineIn({ name, owner }), reason: `control plane ${own} ${why}` },
    ];
    // The cluster's newest API server has written what an older one cannot read, whichever it was.
    const least = minorsBetween(goal, newest) > 0 ? newest : (recorded.get(name) ?? oldest);
    if (least !== undefined && minorsBetween(own, least) > 0) {
      return refusal("controlPlaneDowngrade", `is of an older minor version than ${least}`);
    }
    if (newest !== undefined && semver.major(own) !== semver.major(newest)) {
      return refusal("controlPlaneSkips", `is of another major version than ${newest}`);
    }
    if (!staysOne && newest !== undefined && minorsBetween(newest, own) > 1) {
      const why = `cannot join one of ${newest}: one minor version at a time`;
      return refusal("controlPlaneSkips", why);
    }
    return minorsBetween(own, goal) > 1
      ? refusal("controlPlanesApart", `is more than one minor version behind ${goal}`)
      : [];
  });
}

function machineIn({
  name,
  owner,
}: {
  readonly name: string;
  readonly owner: MachineOwner | undefined;
}): Pick<VersionRefusal, "machine" | "owner"> {
  return omitUndefined({ machine: name, owner });
}

/** A member's kubelet talks to the API server beside it, a worker's to any. */
function kubeletRefusals(to: readonly VersionedMachine[]): VersionRefusal[] {
  const all = controlPlanesOf(to);
  const ends = [oldestVersion(all), newestVersion(all)].flatMap((version) => version ?? []);
  return to.flatMap(({ name, owner, spec }): VersionRefusal[] => {
    const { kubelet, controlPlane } = spec.versions;
    const against = controlPlane === undefined ? ends : [controlPlane];
    const [skew] = against.flatMap((one) => skewOf(kubelet, one) ?? []);
    if (skew === undefined) return [];
    const kind = skew.kind === "newer" ? "kubeletNewer" : "kubeletTooOld";
    return [{ kind, ...machineIn({ name, owner }), reason: skew.summary }];
  });
}
