import assert from "node:assert/strict";
import { isCapstanError } from "../../src/api/error.js";
import { readDesired } from "../../src/manifest/desired.js";
import { withPlaces } from "../../src/engine/operations/placed-refusal.js";
import { type Refusal, RefusedChange } from "../../src/plan/refused-change.js";
import { localProvider } from "../support/manifests.js";
import { cluster } from "../manifest/texts.js";

const text = `${cluster}---
apiVersion: cluster.k8s.io/v1alpha1
kind: Machine
metadata: { name: cp, labels: { cluster.k8s.io/cluster-name: prod } }
spec:
  versions: { kubelet: 1.34.2, controlPlane: 1.34.2 }
  providerSpec:
    value: { apiVersion: local.capstan.dev/v1alpha1, kind: LocalMachineProviderSpec }
---
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDeployment
metadata: { name: web, labels: { cluster.k8s.io/cluster-name: prod } }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      providerSpec:
        value:
          apiVersion: local.capstan.dev/v1alpha1
          kind: LocalMachineProviderSpec
          size: large
`;

describe("a change that is refused", () => {
  const { clusters, positionOf } = readDesired([{ file: "f.yaml", text }], [localProvider()]);
  const [desired] = clusters;
  const owner = { machineSet: "web-1f", machineDeployment: "web", ordinal: 0 };
  const cases: { name: string; given: Omit<Refusal, "reason">; want: string }[] = [
    {
      name: "of a Machine, where its field stands",
      given: {
        subject: "Machine cp",
        machine: { name: "cp" },
        member: ["versions", "controlPlane"],
      },
      want: "f.yaml:16:32: cannot change Machine cp: no",
    },
    {
      name: "of a deployment's machine, in its template",
      given: {
        subject: "Machine web-1f-0",
        machine: { name: "web-1f-0", owner },
        member: ["providerSpec", "value", "size"],
      },
      want: "f.yaml:32:11: cannot change Machine web-1f-0: no",
    },
    {
      name: "for a field that nobody wrote, where it would stand",
      given: {
        subject: "Machine web-1f-0",
        machine: { name: "web-1f-0", owner },
        member: ["versions", "kubelet"],
      },
      want: "f.yaml:27:5: cannot change Machine web-1f-0: no",
    },
    {
      name: "of what machines share, where the Cluster's own object stands",
      given: { subject: "LocalNetwork network" },
      want: "f.yaml:9:3: cannot change LocalNetwork network: no",
    },
    {
      name: "of a machine that nobody wrote, without a place",
      given: { subject: "Machine x", machine: { name: "x" } },
      want: "cannot change Machine x: no",
    },
  ];
  for (const { name, given, want } of cases) {
    it(`is told ${name}`, () => {
      assert.ok(desired !== undefined);
      const refuse = () => {
        throw new RefusedChange([{ ...given, reason: "no" }], "take it back");
      };
      assert.throws(
        () => withPlaces(desired, positionOf, refuse),
        (error) =>
          isCapstanError(error) &&
          error.code === "UNSUPPORTED_CHANGE" &&
          error.message === want &&
          error.hint === "take it back",
      );
    });
  }

  it("is told once for the machines of a deployment that it is the same for", () => {
    const refusal = (ordinal: number, reason: string): Refusal => {
      const name = `web-1f-${ordinal}`;
      return {
        subject: `Machine ${name}`,
        reason,
        machine: { name, owner: { ...owner, ordinal } },
      };
    };
    const { message } = new RefusedChange(
      [refusal(0, "no"), refusal(1, "never"), refusal(2, "no"), refusal(3, "no")],
      "take it back",
    );
    assert.deepEqual(message.split("\n"), [
      "cannot change Machine web-1f-0 and 2 more of MachineDeployment web: no",
      "cannot change Machine web-1f-1: never",
    ]);
  });

  it("is the only error that is told otherwise", () => {
    assert.ok(desired !== undefined);
    const cause = new Error("something else");
    const fail = () => {
      throw cause;
    };
    assert.throws(() => withPlaces(desired, positionOf, fail), cause);
    assert.equal(
      withPlaces(desired, positionOf, () => 1),
      1,
    );
  });
});
