import assert from "node:assert/strict";
import type { JsonObject } from "../../src/api/json.js";
import { machine } from "../support/manifests.js";
import { itRefusesEach, saidOfFields } from "../support/refused-fields.js";

/** What is said of a Machine with such a field, without positions. */
function saidOf(
  kubeadm: JsonObject,
  shape: { controlPlane?: string } = { controlPlane: "1.34.2" },
) {
  return saidOfFields(machine("cp-0", shape), { kubeadm });
}

describe("what users add to kubeadm's configuration", () => {
  it("is taken where kubeadm has it", () => {
    const patch = {
      clusterConfiguration: {
        apiServer: { extraArgs: { "audit-log-path": "-" }, certSANs: ["k8s.example.org"] },
        etcd: { local: { extraArgs: { "quota-backend-bytes": "8589934592" } } },
        featureGates: { ControlPlaneKubeletLocalMode: true },
      },
      nodeRegistration: { kubeletExtraArgs: { v: "4" }, ignorePreflightErrors: ["NumCPU"] },
      kubeletConfiguration: { maxPods: 50, evictionHard: { "memory.available": "5%" } },
    };
    assert.deepEqual(saidOf(patch), []);
  });

  const cases: { name: string; given: JsonObject; want: RegExp }[] = [
    {
      name: "a version, which the Machine says",
      given: { clusterConfiguration: { kubernetesVersion: "v1.35.0" } },
      want: /^f\.yaml:\d+:\d+: error: .*kubernetesVersion cannot be set here.*versions\.controlPlane of the Machine says it/s,
    },
    {
      name: "networks, which the Cluster says",
      given: { clusterConfiguration: { networking: { podSubnet: "10.0.0.0/8" } } },
      want: /networking cannot be set here.*spec\.clusterNetwork/s,
    },
    {
      name: "etcd of somebody else",
      given: { clusterConfiguration: { etcd: { external: {} } } },
      want: /external cannot be set here.*members of a control plane run etcd/s,
    },
    {
      name: "a name of the node",
      given: { nodeRegistration: { name: "other" } },
      want: /name cannot be set here.*the provider's hosts tell it/s,
    },
    {
      name: "labels beside those of the Machine",
      given: { nodeRegistration: { kubeletExtraArgs: { "node-labels": "a=b" } } },
      want: /node-labels cannot be set here.*spec\.metadata\.labels/s,
    },
    {
      name: "another range of Services",
      given: {
        clusterConfiguration: {
          apiServer: { extraArgs: { "service-cluster-ip-range": "10.0.0.0/8" } },
        },
      },
      want: /service-cluster-ip-range cannot be set here/,
    },
    {
      name: "a domain of Services for one kubelet",
      given: { kubeletConfiguration: { clusterDomain: "other.local" } },
      want: /clusterDomain cannot be set here/,
    },
    {
      name: "what kubeadm does not have",
      given: { clusterConfiguration: { apiserver: {} } },
      want: /unknown field "apiserver".*did you mean "apiServer"/s,
    },
    {
      name: "a member that no kubelet reads",
      given: { kubeletConfiguration: { nonsense: 1 } },
      want: /unknown field "nonsense".*KubeletConfiguration/s,
    },
    {
      name: "a slip in a member of the kubelet's",
      given: { kubeletConfiguration: { maxPodz: 40 } },
      want: /unknown field "maxPodz".*did you mean "maxPods"/s,
    },
    {
      name: "a number where an argument is a text",
      given: { nodeRegistration: { kubeletExtraArgs: { v: 4 } } },
      want: /must be of type string.*write it in quotes/s,
    },
    {
      name: "a part that there is not",
      given: { initConfiguration: {} },
      want: /unknown field "initConfiguration"/,
    },
  ];
  itRefusesEach(cases, saidOf);

  it("is told all at once", () => {
    const said = saidOf({
      clusterConfiguration: { clusterName: "a" },
      nodeRegistration: { taints: [], criSocket: "b" },
    });
    assert.equal(said.length, 3, said.join("\n"));
  });

  it("has no effect on workers, of what is the cluster's", () => {
    const [said, ...others] = saidOf({ clusterConfiguration: { imageRepository: "a" } }, {});
    assert.match(said ?? "", /warning: .*has no effect on workers/);
    assert.deepEqual(others, []);
  });
});
