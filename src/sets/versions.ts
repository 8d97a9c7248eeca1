import { sameJson } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { isInRange, type MachineOffers, type RuntimeOffer } from "../api/provider-specs.js";
import {
  canonicalVersion,
  canonicalVersions,
  defaultVersionIn,
  oldestControlPlane,
  oldestVersion,
} from "../api/versions.js";
import type {
  ContainerRuntime,
  Desired,
  MachineDeploymentObject,
  MachineSetObject,
  MachineSpec,
  MachineVersions,
  WrittenMachineSpec,
  WrittenVersions,
} from "../api/types.js";
import type { ExpandedMachine, ResolvedDesired } from "./expanded.js";

/**
 * Chooses the versions that users left out, each for itself: a kubelet's is that of the control plane
 * beside it, otherwise what was recorded when the Machine was first planned, otherwise the cluster's control
 * plane's, otherwise this release's default or the newest that the provider has; the name or version of a container runtime is what was
 * recorded, otherwise what the provider recommends. A choice is recorded with the target and so never changes by itself. Pure.
 * Source: docs/cluster-api.md#machine.
 */
export function chooseVersions(
  desired: Desired,
  recorded: readonly ExpandedMachine[],
  { kubernetes, containerRuntimes: runtimes = [] }: MachineOffers,
): ResolvedDesired {
  const fallback = clusterVersion(desired, recorded) ?? defaultVersionIn(kubernetes);
  const resolve = (spec: WrittenMachineSpec, isIts: (machine: ExpandedMachine) => boolean) => {
    const known = recorded.find(isIts)?.spec.versions;
    const versions = chosenVersions(spec, { known, fallback, runtimes });
    return { ...spec, versions: inRecordedSpelling(versions, known) };
  };
  const withTemplate = <O extends MachineSetObject | MachineDeploymentObject>(
    object: O,
    isIts: (machine: ExpandedMachine) => boolean,
  ) => {
    const { template } = object.spec;
    const spec: MachineSpec = resolve(template.spec, isIts);
    return { ...object, spec: { ...object.spec, template: { ...template, spec } } };
  };
  return {
    machines: desired.machines.map((machine) => ({
      ...machine,
      spec: resolve(machine.spec, ({ name }) => name === machine.metadata.name),
    })),
    machineSets: desired.machineSets.map((set) =>
      withTemplate(set, ({ owner }) => owner?.machineSet === set.metadata.name),
    ),
    machineDeployments: desired.machineDeployments.map((deployment) =>
      withTemplate(
        deployment,
        ({ owner }) => owner?.machineDeployment === deployment.metadata.name,
      ),
    ),
  };
}

/** What is written, with what it leaves out as it was chosen. Pure. */
export function withChosen(written: WrittenVersions, chosen: MachineVersions): MachineVersions {
  const runtime = { ...chosen.containerRuntime, ...written.containerRuntime };
  const { name, version } = runtime;
  const containerRuntime =
    name === undefined || version === undefined ? undefined : { name, version };
  return omitUndefined({ ...chosen, ...written, containerRuntime });
}

/** Whether what is written of versions is what was chosen, whatever it leaves out. Pure. */
export function followsVersions(chosen: MachineVersions, written: WrittenVersions = {}): boolean {
  return sameJson(canonicalVersions(withChosen(written, chosen)), canonicalVersions(chosen));
}

/** What there is to choose from. */
interface Choices {
  /** What was chosen before; undefined for a Machine that is planned for the first time. */
  readonly known: MachineVersions | undefined;
  /** The Kubernetes version of who names none. */
  readonly fallback: string;
  readonly runtimes: readonly RuntimeOffer[];
}

function chosenVersions(
  { roles, versions: written }: WrittenMachineSpec,
  { known, fallback, runtimes }: Choices,
): MachineVersions {
  const kubelet = written?.kubelet ?? written?.controlPlane ?? known?.kubelet ?? fallback;
  const isMaster = roles?.includes("Master") === true;
  // Versions without a control plane say that the Machine is a worker; no versions say nothing.
  const recorded = isMaster || written === undefined ? known?.controlPlane : undefined;
  return omitUndefined({
    kubelet,
    controlPlane: written?.controlPlane ?? recorded ?? (isMaster ? kubelet : undefined),
    containerRuntime: chosenRuntime(written?.containerRuntime, known, runtimes),
  });
}

/**
 * A Machine that never named a runtime has the one that its image brings: undefined. So is one that names
 * half of it to a provider that recommends none, which validation refuses.
 */
function chosenRuntime(
  written: WrittenVersions["containerRuntime"],
  known: MachineVersions | undefined,
  runtimes: readonly RuntimeOffer[],
): ContainerRuntime | undefined {
  const recorded = known?.containerRuntime;
  if (written === undefined) return recorded;
  const fitting = runtimes.find(
    ({ versions }) => written.version === undefined || isInRange(written.version, versions),
  );
  const name = written.name ?? recorded?.name ?? fitting?.name;
  const version =
    written.version ??
    (name === recorded?.name ? recorded?.version : undefined) ??
    runtimes.find((offer) => offer.name === name)?.recommended;
  return name === undefined || version === undefined ? undefined : { name, version };
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

/** That of the control plane: the oldest that is written, else the oldest that runs. */
function clusterVersion(
  desired: Desired,
  recorded: readonly ExpandedMachine[],
): string | undefined {
  const running = recorded.flatMap(({ spec }) => spec.versions.controlPlane ?? []);
  return oldestControlPlane(desired) ?? oldestVersion(running);
}
