import assert from "node:assert/strict";
import { nodesOf } from "../../../../providers/local/file/resource.js";
import { runtimeOfImages } from "../../../../providers/local/file/node.js";
import { runtimeOfMachine } from "../../../../providers/local/kubeadm/containerd-version.js";
import { joiningTerms, runtimeTerms } from "../../../../src/provider/joining-terms.js";
import type { MachineToCompile } from "../../../../src/provider/port.js";
import { localProvider } from "../../../support/manifests.js";

const machine = {} as MachineToCompile;

describe("what hosts of the local cloud get, by how they run", () => {
  const cases = [
    { nodes: undefined, runs: "simulated", software: undefined },
    { nodes: "simulated", runs: "simulated", software: undefined },
    { nodes: "processes", runs: "processes", software: "apt" },
    { nodes: "kubeadm", runs: "kubeadm", software: "image" },
  ] as const;
  for (const { nodes, runs, software } of cases) {
    it(`${nodes ?? "nothing said"}: ${software ?? "no user data"}`, () => {
      const spec = nodes === undefined ? {} : { nodes };
      assert.equal(nodesOf(spec), runs);
      const terms = joiningTerms(localProvider(), spec);
      assert.equal(terms?.software(machine, spec), software);
    });
  }

  it("hosts of namespaces have the container runtime of this machine, where it has one; others that of their images", () => {
    const { userData } = localProvider();
    assert.deepEqual(
      runtimeTerms(userData, { nodes: "kubeadm" }),
      runtimeOfMachine() ?? runtimeOfImages,
    );
    assert.deepEqual(runtimeTerms(userData, { nodes: "processes" }), runtimeOfImages);
  });
});
