import assert from "node:assert/strict";
import { owningObjects } from "../../src/sets/owning-objects.js";
import {
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../support/manifests.js";

function named(name: string, manifest: Manifest): Manifest {
  return { ...manifest, metadata: { ...(manifest["metadata"] as Manifest), name } };
}

describe("what a user wrote for a machine", () => {
  // One name for three objects: a machine's owner alone tells them apart.
  const desired = desiredOf([
    cluster(),
    machine("web"),
    machineSet("web", 1),
    // Its labels are its own: no two sets select the same Machines.
    named("web", machineDeployment("site", 1)),
  ]);
  const { machines, machineSets, machineDeployments } = desired;
  const ownerOf = owningObjects([
    desired.cluster,
    ...machines,
    ...machineSets,
    ...machineDeployments,
  ]);
  const cases = [
    { name: "its own Machine", given: { name: "web" }, want: "Machine web" },
    {
      name: "its MachineSet",
      given: { name: "web-0", owner: { machineSet: "web", ordinal: 0 } },
      want: "MachineSet web",
    },
    {
      name: "the MachineDeployment above its set",
      given: {
        name: "web-1f-0",
        owner: { machineSet: "web-1f", machineDeployment: "web", ordinal: 0 },
      },
      want: "MachineDeployment web",
    },
    { name: "nothing, for a machine that is not wanted any more", given: { name: "db" } },
  ];
  for (const { name, given, want } of cases) {
    it(`is ${name}`, () => {
      const found = ownerOf(given);
      assert.equal(found && `${found.kind} ${found.metadata.name}`, want);
    });
  }
});
