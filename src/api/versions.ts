import semver from "semver";

/** The Kubernetes version of machines whose manifests name none, in a cluster that names none. */
export const defaultKubernetesVersion = "1.34.2";

/** The oldest of some semantic versions; undefined for none. Pure. */
export function oldestVersion(versions: readonly string[]): string | undefined {
  return versions.filter((version) => semver.valid(version) !== null).sort(semver.compare)[0];
}
