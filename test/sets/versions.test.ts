import assert from "node:assert/strict";
import type { MachineOffers } from "../../src/api/provider-specs.js";
import type { MachineVersions, WrittenMachineSpec, WrittenVersions } from "../../src/api/types.js";
import { defaultKubernetesVersion } from "../../src/api/versions.js";
import type { ExpandedMachine } from "../../src/sets/expanded.js";
import { chooseVersions } from "../../src/sets/versions.js";

const runtimes = [
  { name: "containerd", versions: ">=1.6.0 <1.8.0-0 || >=2.0.0 <3.0.0-0", recommended: "2.1.5" },
  { name: "cri-o", versions: ">=1.24.0 <1.36.0-0", recommended: "1.34.2" },
];
const containerd = { name: "containerd", version: "2.1.4" };
const providerSpec = { value: { apiVersion: "p/v1", kind: "P" } };
const written = (
  versions?: WrittenVersions,
  roles?: ("Master" | "Node")[],
): WrittenMachineSpec => ({
  providerSpec,
  ...(versions !== undefined && { versions }),
  ...(roles !== undefined && { roles }),
});
const machine = (name: string, spec: WrittenMachineSpec) => ({
  apiVersion: "cluster.k8s.io/v1alpha1" as const,
  kind: "Machine" as const,
  metadata: { name, namespace: "default" },
  spec,
});
const was = (name: string, versions: MachineVersions): ExpandedMachine => ({
  name,
  spec: { providerSpec, versions },
});

interface Case {
  readonly name: string;
  readonly spec: WrittenMachineSpec;
  readonly others?: readonly ReturnType<typeof machine>[];
  readonly recorded?: readonly ExpandedMachine[];
  /** What the provider offers; nothing without. */
  readonly offered?: typeof runtimes;
  readonly offers?: MachineOffers;
  readonly want: MachineVersions;
}

const member = machine("cp", written({ kubelet: "1.33.1", controlPlane: "1.33.1" }));
const none: MachineVersions = { kubelet: "1.34.2" };
const cases: readonly Case[] = [
  {
    name: "a kubelet beside a control plane takes its version, whatever was recorded",
    spec: written({ controlPlane: "1.34.2" }),
    recorded: [was("m", { kubelet: "1.33.1", controlPlane: "1.33.1" })],
    want: { kubelet: "1.34.2", controlPlane: "1.34.2" },
  },
  {
    name: "a kubelet beside a runtime alone is chosen as if there were no versions",
    spec: written({ containerRuntime: containerd }),
    others: [member],
    want: { kubelet: "1.33.1", containerRuntime: containerd },
  },
  {
    name: "a kubelet beside a runtime alone stays what was recorded",
    spec: written({ containerRuntime: containerd }),
    recorded: [was("m", { kubelet: "1.30.0" })],
    want: { kubelet: "1.30.0", containerRuntime: containerd },
  },
  {
    name: "a runtime without a version gets the one that is recommended",
    spec: written({ ...none, containerRuntime: { name: "cri-o" } }),
    offered: runtimes,
    want: { ...none, containerRuntime: { name: "cri-o", version: "1.34.2" } },
  },
  {
    name: "a runtime without a version keeps the recorded one",
    spec: written({ ...none, containerRuntime: { name: "containerd" } }),
    recorded: [was("m", { ...none, containerRuntime: containerd })],
    offered: runtimes,
    want: { ...none, containerRuntime: containerd },
  },
  {
    name: "another runtime without a version does not keep the one that was recorded for the first",
    spec: written({ ...none, containerRuntime: { name: "cri-o" } }),
    recorded: [was("m", { ...none, containerRuntime: containerd })],
    offered: runtimes,
    want: { ...none, containerRuntime: { name: "cri-o", version: "1.34.2" } },
  },
  {
    name: "a runtime's version without a name is of the first that has it",
    spec: written({ ...none, containerRuntime: { version: "1.33.0" } }),
    offered: runtimes,
    want: { ...none, containerRuntime: { name: "cri-o", version: "1.33.0" } },
  },
  {
    name: "a runtime's version without a name is of the recorded one",
    spec: written({ ...none, containerRuntime: { version: "2.0.0" } }),
    recorded: [was("m", { ...none, containerRuntime: containerd })],
    offered: runtimes,
    want: { ...none, containerRuntime: { name: "containerd", version: "2.0.0" } },
  },
  {
    name: "a runtime that is left out stays the one that was chosen",
    spec: written(none),
    recorded: [was("m", { ...none, containerRuntime: containerd })],
    offered: runtimes,
    want: { ...none, containerRuntime: containerd },
  },
  {
    name: "a runtime that never was named is none",
    spec: written(none),
    offered: runtimes,
    want: none,
  },
  {
    name: "what is written stands",
    spec: written({ kubelet: "1.30.0" }),
    recorded: [was("m", { kubelet: "1.29.0" })],
    want: { kubelet: "1.30.0" },
  },
  {
    name: "what an earlier release recorded keeps its spelling while it is the same version",
    spec: written({ kubelet: "1.30.0", controlPlane: "1.31.0" }),
    recorded: [was("m", { kubelet: "v1.30.0", controlPlane: "v1.30.0" })],
    want: { kubelet: "v1.30.0", controlPlane: "1.31.0" },
  },
  {
    name: "what was recorded is kept when nothing is written",
    spec: written(),
    others: [member],
    recorded: [was("m", { kubelet: "1.29.0" })],
    want: { kubelet: "1.29.0" },
  },
  {
    name: "a first plan follows the control plane",
    spec: written(),
    others: [member],
    want: { kubelet: "1.33.1" },
  },
  {
    name: "a running control plane counts too",
    spec: written(),
    recorded: [was("cp", { kubelet: "1.32.0", controlPlane: "1.32.0" })],
    want: { kubelet: "1.32.0" },
  },
  {
    name: "without any, the release's default",
    spec: written(),
    want: { kubelet: defaultKubernetesVersion },
  },
  {
    name: "without any, the newest known version of a provider that does not have that",
    spec: written(),
    offers: { kubernetes: "1.30 - 1.31" },
    want: { kubelet: "1.31.14" },
  },
  {
    name: "a Master gets a control plane of its kubelet's version",
    spec: written({ kubelet: "1.31.4" }, ["Master"]),
    want: { kubelet: "1.31.4", controlPlane: "1.31.4" },
  },
  {
    name: "a Master keeps the control plane that was chosen for it",
    spec: written(undefined, ["Master"]),
    recorded: [was("m", { kubelet: "1.31.4", controlPlane: "1.31.4" })],
    want: { kubelet: "1.31.4", controlPlane: "1.31.4" },
  },
];

describe("chooseVersions", () => {
  for (const { name, spec, others = [], recorded = [], offered = [], offers, want } of cases) {
    it(name, () => {
      const desired = {
        cluster: {} as never,
        machines: [machine("m", spec), ...others],
        machineSets: [],
        machineDeployments: [],
        drainRules: [],
        healthChecks: [],
      };
      const [first] = chooseVersions(desired, recorded, {
        containerRuntimes: offered,
        ...offers,
      }).machines;
      assert.deepEqual(first?.spec.versions, want);
    });
  }
});
