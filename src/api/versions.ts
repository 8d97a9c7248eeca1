import semver from "semver";

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

/** "1.33.6" for 33: the newest patch of a minor version that is known, otherwise its ".0". Pure. */
export function newestPatch(minor: number): string {
  return `1.${minor}.${lastPatches[minor] ?? 0}`;
}

/** Whether this release knows a Kubernetes version to exist; a pre-release never. Pure. */
export function isKnownVersion(version: string): boolean {
  const parsed = semver.parse(version);
  if (parsed === null || parsed.major !== 1 || parsed.prerelease.length > 0) return false;
  return parsed.patch <= (lastPatches[parsed.minor] ?? -1);
}

/** The oldest of some semantic versions; undefined for none. Pure. */
export function oldestVersion(versions: readonly string[]): string | undefined {
  return versions.filter((version) => semver.valid(version) !== null).sort(semver.compare)[0];
}
