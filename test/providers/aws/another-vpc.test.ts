import assert from "node:assert/strict";
import { awsProvider } from "../../../providers/aws/provider.js";
import type { JsonObject } from "../../../src/api/json.js";
import type { ClusterObject } from "../../../src/api/types.js";
import { resolveRefs } from "../../../src/graph/graph.js";
import { clusterNetwork } from "../../support/manifests.js";
import { noClients } from "./no-clients.js";

const provider = awsProvider(noClients);

const clusterSpec = {
  region: "eu-north-1",
  zones: ["eu-north-1a", "eu-north-1b"],
  natGateways: "perZone",
};

/** The resources that a cluster and a machine of it have in one VPC, each with its inputs. */
function resourcesIn(vpc: string): readonly (readonly [kind: string, name: string, JsonObject])[] {
  const cluster = { spec: { clusterNetwork: clusterNetwork() } } as unknown as ClusterObject;
  const machine = {
    name: "cp-0",
    controlPlane: true,
    spec: { versions: { kubelet: "1.34.2", controlPlane: "1.34.2" }, providerSpec: {} },
    providerSpec: { instanceType: "t3.medium" },
    lookedUp: { imageId: "ami-1" },
  };
  const { infrastructure, hosts } = provider.compile(cluster, clusterSpec, [machine]);
  const known = (spec: JsonObject) =>
    resolveRefs(spec, ({ $ref, output }) => `${$ref} ${output} in ${vpc}`);
  return [
    ...infrastructure.map(({ kind, name, spec }) => [kind, name, known(spec)] as const),
    ...[...hosts].map(([name, spec]) => ["AwsInstance", name, known(spec)] as const),
  ];
}

describe("another VPC", () => {
  it("is not planned as a change in place of anything that is in a VPC", () => {
    const [before, after] = [resourcesIn("vpc-1"), resourcesIn("vpc-2")];
    const inPlace = before.flatMap(([kind, name, recorded], index) => {
      const [, , wanted = {}] = after[index] ?? [];
      const verdict = provider.verdict(kind, recorded, wanted);
      return verdict.kind === "inPlace" ? [`${kind} ${name}: ${verdict.paths.join()}`] : [];
    });
    assert.deepEqual(inPlace, []);
  });

  it("is refused, since members in two VPCs do not reach each other", () => {
    const ranges = provider.verdict("AwsVpc", { cidr: "10.0.0.0/16" }, { cidr: "10.1.0.0/16" });
    const ids = provider.verdict("AwsLoadBalancer", { vpcId: "vpc-1" }, { vpcId: "vpc-2" });
    assert.deepEqual([ranges.kind, ids.kind], ["unsupported", "unsupported"]);
  });

  it("is named in place in records that do not name any", () => {
    const verdict = provider.verdict("AwsLoadBalancer", {}, { vpcId: "vpc-1" });
    assert.equal(verdict.kind, "inPlace");
  });
});
