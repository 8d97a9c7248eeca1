import assert from "node:assert/strict";
import type { ClusterMember, Desired } from "../../../src/api/types.js";
import { readDesired } from "../../../src/manifest/desired.js";
import { checkImmutable } from "../../../src/plan/refusals/immutable.js";
import type { Target } from "../../../src/records/target.js";
import { localProvider } from "../../support/manifests.js";
import { cluster } from "../../manifest/texts.js";

const text = `${cluster}---
apiVersion: cluster.k8s.io/v1alpha1
kind: Machine
metadata: { name: m, labels: { cluster.k8s.io/cluster-name: prod } }
spec:
  versions: { kubelet: 1.34.2 }
  providerSpec:
    value: { apiVersion: local.capstan.dev/v1alpha1, kind: LocalMachineProviderSpec }
---
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDeployment
metadata: { name: d, labels: { cluster.k8s.io/cluster-name: prod } }
spec:
  selector: { matchLabels: { app: d } }
  template:
    metadata: { labels: { app: d, tier: x } }
    spec:
      providerSpec:
        value: { apiVersion: local.capstan.dev/v1alpha1, kind: LocalMachineProviderSpec }
`;

function desiredOf(changed: string): Desired {
  const { clusters, diagnostics } = readDesired([{ file: "f", text: changed }], [localProvider()]);
  assert.deepEqual(diagnostics, []);
  assert.ok(clusters[0] !== undefined);
  return clusters[0];
}

function recorded(): Target {
  const desired = desiredOf(text);
  const objects: ClusterMember[] = [
    desired.cluster,
    ...desired.machines,
    ...desired.machineDeployments,
  ];
  return { cluster: "default/prod", provider: "local", objects, machines: [], nodes: [] };
}

const cases = [
  { name: "nothing changed", from: "", to: "", want: [] },
  {
    name: "the networks of a cluster",
    from: "192.168.0.0/16",
    to: "172.16.0.0/16",
    want: ["Cluster prod spec.clusterNetwork.pods.cidrBlocks"],
  },
  {
    name: "the selector of a deployment",
    from: "{ matchLabels: { app: d } }",
    to: "{ matchLabels: { tier: x } }",
    want: ["MachineDeployment d spec.selector.matchLabels"],
  },
  {
    name: "a worker that would become a control-plane member",
    from: "kubelet: 1.34.2",
    to: "kubelet: 1.34.2, controlPlane: 1.34.2",
    want: ["Machine m spec.versions"],
  },
  { name: "a version is no role", from: "kubelet: 1.34.2", to: "kubelet: 1.34.3", want: [] },
  {
    name: "versions left out keep the role",
    from: "  versions: { kubelet: 1.34.2 }\n",
    to: "",
    want: [],
  },
  { name: "a new object has no past", from: "name: m,", to: "name: n,", want: [] },
];

describe("checkImmutable", () => {
  for (const { name, from, to, want } of cases) {
    it(name, () => {
      assert.ok(text.includes(from));
      const violations = checkImmutable(desiredOf(text.replace(from, to)), recorded());
      assert.deepEqual(
        violations.map(({ object, violation }) => {
          assert.equal(violation.code, "IMMUTABLE");
          assert.ok(violation.hint !== undefined);
          return `${object.kind} ${object.metadata.name} ${violation.path.join(".")}`;
        }),
        want,
      );
    });
  }

  it("tells each member that differs, from what and to what", () => {
    const both = text
      .replace("192.168.0.0/16", "172.16.0.0/16")
      .replace("serviceDomain: cluster.local", "serviceDomain: prod.local");
    assert.deepEqual(
      checkImmutable(desiredOf(both), recorded()).map(
        ({ violation: { path, summary } }) => `${path.join(".")} ${summary}`,
      ),
      [
        'spec.clusterNetwork.pods.cidrBlocks cannot change from ["192.168.0.0/16"] to ["172.16.0.0/16"] while the Cluster lives',
        'spec.clusterNetwork.serviceDomain cannot change from "cluster.local" to "prod.local" while the Cluster lives',
      ],
    );
  });

  for (const { name, apiVersion, want } of [
    {
      name: "another provider",
      apiVersion: "other.dev/v1alpha1",
      want: [
        'cannot change from "other.dev/v1alpha1" to "local.capstan.dev/v1alpha1" while the Cluster lives',
      ],
    },
    {
      name: "a version of its provider that cannot be read any more",
      apiVersion: "local.capstan.dev/v2",
      want: ["is recorded in local.capstan.dev/v2, which this release of its provider cannot read"],
    },
  ]) {
    it(`refuses what is recorded of ${name}`, () => {
      const records = JSON.stringify(recorded()).replaceAll(
        "local.capstan.dev/v1alpha1",
        apiVersion,
      );
      const violations = checkImmutable(desiredOf(text), JSON.parse(records) as Target);
      assert.deepEqual(
        violations.map(({ violation }) => violation.summary),
        want,
      );
    });
  }

  it("without a record everything is new", () => {
    assert.deepEqual(checkImmutable(desiredOf(text), undefined), []);
  });
});
