import { omitUndefined } from "../api/omit-undefined.js";
import { canonicalVersion, defaultKubernetesVersion, oldestVersion } from "../api/versions.js";
import type {
  Desired,
  MachineDeploymentObject,
  MachineSetObject,
  MachineSpec,
  MachineVersions,
  WrittenMachineSpec,
} from "../api/types.js";
import type { ExpandedMachine, ResolvedDesired } from "./expanded.js";

/**
 * Chooses the versions that users left out: what was recorded when the Machine was first planned,
 * otherwise the control plane's, otherwise this release's default. A choice is recorded with the
 * target and so never changes by itself. Pure. Source: docs/cluster-api.md#machine.
 */
export function chooseVersions(
  desired: Desired,
  recorded: readonly ExpandedMachine[],
): ResolvedDesired {
  const fallback = fallbackVersion(desired, recorded);
  const versionsOf = (isIts: (machine: ExpandedMachine) => boolean) =>
    recorded.find(isIts)?.spec.versions;
  const withTemplate = <O extends MachineSetObject | MachineDeploymentObject>(
    object: O,
    known: MachineVersions | undefined,
  ) => {
    const { template } = object.spec;
    const spec = resolve(template.spec, known, fallback);
    return { ...object, spec: { ...object.spec, template: { ...template, spec } } };
  };
  return {
    machines: desired.machines.map((machine) => {
      const known = versionsOf(({ name }) => name === machine.metadata.name);
      return { ...machine, spec: resolve(machine.spec, known, fallback) };
    }),
    machineSets: desired.machineSets.map((set) => {
      const { name } = set.metadata;
      return withTemplate(
        set,
        versionsOf(({ owner }) => owner?.machineSet === name),
      );
    }),
    machineDeployments: desired.machineDeployments.map((deployment) => {
      const { name } = deployment.metadata;
      const known = versionsOf(({ owner }) => owner?.machineDeployment === name);
      return withTemplate(deployment, known);
    }),
  };
}

function resolve(
  spec: WrittenMachineSpec,
  known: MachineVersions | undefined,
  fallback: string,
): MachineSpec {
  const master = spec.roles?.includes("Master") === true;
  const versions = inRecordedSpelling(spec.versions ?? known ?? { kubelet: fallback }, known);
  if (!master || versions.controlPlane !== undefined) return { ...spec, versions };
  const controlPlane = known?.controlPlane ?? versions.kubelet;
  return { ...spec, versions: { ...versions, controlPlane } };
}

/**
 * An earlier release recorded v1.34.2 as it was written. As long as it is the version that is wanted it
 * stays so: another spelling would be another input of a host.
 */
function inRecordedSpelling(
  { kubelet, controlPlane, containerRuntime }: MachineVersions,
  known: MachineVersions | undefined,
): MachineVersions {
  const runtime = known?.containerRuntime;
  return omitUndefined({
    kubelet: spelledAs(kubelet, known?.kubelet),
    controlPlane: controlPlane && spelledAs(controlPlane, known?.controlPlane),
    containerRuntime: containerRuntime && {
      ...containerRuntime,
      version: spelledAs(containerRuntime.version, runtime?.version),
    },
  });
}

function spelledAs(version: string, recorded: string | undefined): string {
  return recorded !== undefined && canonicalVersion(recorded) === version ? recorded : version;
}

function fallbackVersion(desired: Desired, recorded: readonly ExpandedMachine[]): string {
  const written = [
    ...desired.machines.map(({ spec }) => spec),
    ...desired.machineSets.map(({ spec }) => spec.template.spec),
    ...desired.machineDeployments.map(({ spec }) => spec.template.spec),
  ].flatMap(({ versions }) => versions?.controlPlane ?? []);
  const running = recorded.flatMap(({ spec }) => spec.versions.controlPlane ?? []);
  return oldestVersion(written) ?? oldestVersion(running) ?? defaultKubernetesVersion;
}
