import semver from "semver";
import { counted } from "./counted.js";
import { omitUndefined } from "./omit-undefined.js";
import type { WrittenVersions } from "./schema.js";
import type { Desired } from "./types.js";

/** The Kubernetes version of machines whose manifests name none, in a cluster that names none. */
export const defaultKubernetesVersion = "1.34.2";

/** The last patch of each minor version that this release knows. Source: releases of kubernetes/kubernetes. */
const lastPatches: Readonly<Record<number, number>> = {
  24: 17,
  25: 16,
  26: 15,
  27: 16,
  28: 15,
  29: 15,
  30: 14,
  31: 14,
  32: 10,
  33: 6,
  34: 2,
  35: 0,
};

const knownMinors = Object.keys(lastPatches).map(Number);

/** The Kubernetes versions of which this release knows a patch, as a range: "1.24 - 1.35". */
export const knownKubernetes = `1.${Math.min(...knownMinors)} - 1.${Math.max(...knownMinors)}`;

/** The default Kubernetes version; of a provider that has others, the newest known one that it has. Pure. */
export function defaultVersionIn(range = "*"): string {
  const known = Object.entries(lastPatches).map(([minor, patch]) => `1.${minor}.${patch}`);
  const newest = newestVersion(known.filter((version) => semver.satisfies(version, range)));
  return semver.satisfies(defaultKubernetesVersion, range)
    ? defaultKubernetesVersion
    : (newest ?? defaultKubernetesVersion);
}

/** "1.33.6" for 1033 (see `minorOf`): the newest patch that is known, otherwise the minor's ".0". Pure. */
export function newestPatch(minor: number): string {
  const [major, rest] = [Math.floor(minor / minorsPerMajor), minor % minorsPerMajor];
  return `${major}.${rest}.${major === 1 ? (lastPatches[rest] ?? 0) : 0}`;
}

/** Whether this release knows a Kubernetes version to exist; a pre-release never. Pure. */
export function isKnownVersion(version: string): boolean {
  const parsed = semver.parse(version);
  if (parsed?.major !== 1 || parsed.prerelease.length > 0) return false;
  return parsed.patch <= (lastPatches[parsed.minor] ?? -1);
}

/** "1.35.0" for "v1.35.0": the one spelling in which versions are planned, recorded and compared. Pure. */
export function canonicalVersion(version: string): string {
  return version.replace(/^v/, "");
}

/** Versions of a Machine in that spelling. Pure. */
export function canonicalVersions(versions: WrittenVersions): WrittenVersions {
  const { kubelet, controlPlane, containerRuntime } = versions;
  return omitUndefined({
    kubelet: kubelet && canonicalVersion(kubelet),
    controlPlane: controlPlane && canonicalVersion(controlPlane),
    containerRuntime:
      containerRuntime &&
      omitUndefined({
        ...containerRuntime,
        version: containerRuntime.version && canonicalVersion(containerRuntime.version),
      }),
  });
}

/** The oldest of some semantic versions; undefined for none. Pure. */
export function oldestVersion(versions: readonly string[]): string | undefined {
  return versions.filter((version) => semver.valid(version) !== null).sort(semver.compare)[0];
}

/** The oldest control-plane version that is written anywhere in a cluster. Pure. */
export function oldestControlPlane(desired: Desired): string | undefined {
  const versions = [
    ...desired.machines.map(({ spec }) => spec),
    ...desired.machineSets.map(({ spec }) => spec.template.spec),
    ...desired.machineDeployments.map(({ spec }) => spec.template.spec),
  ].flatMap(({ versions: one }) => one?.controlPlane ?? []);
  return oldestVersion(versions);
}

/** The newest of some semantic versions; undefined for none. Pure. */
export function newestVersion(versions: readonly string[]): string | undefined {
  return versions
    .filter((version) => semver.valid(version) !== null)
    .sort(semver.compare)
    .at(-1);
}

/** Major and minor version as one number that can be compared: 1034 for "1.34.2"; undefined for no version. Pure. */
export function minorOf(version: string): number | undefined {
  const parsed = semver.parse(version);
  return parsed === null ? undefined : parsed.major * minorsPerMajor + parsed.minor;
}

/** How many minor versions lead from one version to another; 0 where one of them is none. Pure. */
export function minorsBetween(from: string | undefined, to: string | undefined): number {
  const [left, right] = [minorOf(from ?? ""), minorOf(to ?? "")];
  return left === undefined || right === undefined ? 0 : right - left;
}

const minorsPerMajor = 1_000;

/** What is wrong between a kubelet and a control plane that it talks to. */
interface Skew {
  readonly kind: "newer" | "tooOld";
  /** "kubelet 1.30.9 is 4 minors behind the control plane (1.34.2)". */
  readonly summary: string;
  /** The rule that it breaks, as a sentence. */
  readonly rule: string;
}

/**
 * The one rule between kubelets and control planes: never newer, and at most three minor versions older,
 * two for a control plane before 1.28. Undefined where it holds, or where one of the two is no version.
 * Pure. Source: Kubernetes version skew policy.
 */
export function skewOf(kubelet: string, controlPlane: string): Skew | undefined {
  const [own, theirs] = [minorOf(kubelet), minorOf(controlPlane)];
  if (own === undefined || theirs === undefined) return undefined;
  const allowed = minorsBehindAllowed(theirs);
  const rule = `A kubelet may be up to ${counted(allowed, "minor")} older than the control plane, and never newer.`;
  if (own > theirs) {
    const summary = `kubelet ${kubelet} is newer than the control plane (${controlPlane})`;
    return { kind: "newer", summary, rule };
  }
  if (theirs - own <= allowed) return undefined;
  const summary = `kubelet ${kubelet} is ${theirs - own} minors behind the control plane (${controlPlane})`;
  return { kind: "tooOld", summary, rule };
}

/** How many minors a kubelet may be behind a control plane, which is given by `minorOf`. Pure. */
export function minorsBehindAllowed(controlPlane: number): number {
  return controlPlane >= minorsPerMajor + 28 ? 3 : 2;
}
