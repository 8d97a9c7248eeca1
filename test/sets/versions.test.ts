import assert from "node:assert/strict";
import type { MachineVersions, WrittenMachineSpec } from "../../src/api/types.js";
import { defaultKubernetesVersion } from "../../src/api/versions.js";
import type { ExpandedMachine } from "../../src/sets/expanded.js";
import { chooseVersions } from "../../src/sets/versions.js";

const providerSpec = { value: { apiVersion: "p/v1", kind: "P" } };
const written = (
  versions?: MachineVersions,
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
  readonly want: MachineVersions;
}

const member = machine("cp", written({ kubelet: "1.33.1", controlPlane: "1.33.1" }));
const cases: readonly Case[] = [
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
  for (const { name, spec, others = [], recorded = [], want } of cases) {
    it(name, () => {
      const desired = {
        cluster: {} as never,
        machines: [machine("m", spec), ...others],
        machineSets: [],
        machineDeployments: [],
      };
      const [first] = chooseVersions(desired, recorded).machines;
      assert.deepEqual(first?.spec.versions, want);
    });
  }
});
