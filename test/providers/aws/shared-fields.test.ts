import assert from "node:assert/strict";
import { awsProvider } from "../../../providers/aws/provider.js";
import { awsApiVersion } from "../../../providers/aws/specs/cluster-spec.js";
import type { IgnorableField } from "../../../src/api/provider-specs.js";
import type { JsonObject } from "../../../src/api/json.js";
import { ignorableFields } from "../../../src/api/provider-specs.js";
import { apiVersion, clusterNameLabel } from "../../../src/api/schema.js";
import type { ClusterObject, MachineSpec } from "../../../src/api/types.js";
import { checkIgnored } from "../../../src/manifest/offers.js";
import { replacingUnseen } from "../../../src/provider/unobservable.js";
import { clusterNetwork } from "../../support/manifests.js";
import { noClients } from "./no-clients.js";

const provider = replacingUnseen(awsProvider(noClients));

const versions = { kubelet: "1.34.2", controlPlane: "1.34.2" };

/** Each shared field, set and changed. */
const samples: Readonly<
  Record<IgnorableField, readonly [Partial<MachineSpec>, Partial<MachineSpec>]>
> = {
  "versions.containerRuntime": [
    { versions: { ...versions, containerRuntime: { name: "containerd", version: "2.1.4" } } },
    { versions: { ...versions, containerRuntime: { name: "containerd", version: "2.1.5" } } },
  ],
  roles: [{ roles: ["Master", "Node"] }, { roles: ["Master"] }],
  configSource: [
    { configSource: { configMap: { name: "a", namespace: "b", kubeletConfigKey: "c" } } },
    { configSource: { configMap: { name: "z", namespace: "b", kubeletConfigKey: "c" } } },
  ],
  "metadata.labels": [
    { metadata: { labels: { tier: "a" } } },
    { metadata: { labels: { tier: "b" } } },
  ],
  "metadata.annotations": [
    { metadata: { annotations: { note: "a" } } },
    { metadata: { annotations: { note: "b" } } },
  ],
  taints: [{ taints: [{ key: "a", effect: "NoSchedule" }] }, { taints: [] }],
};

const value = {
  apiVersion: awsApiVersion,
  kind: "AWSMachineProviderSpec",
  instanceType: "t3.medium",
};

function hostOf(spec: Partial<MachineSpec>): JsonObject {
  const machine = {
    name: "cp-0",
    controlPlane: true,
    spec: { versions, providerSpec: { value }, ...spec } as unknown as MachineSpec,
    providerSpec: value,
    lookedUp: { imageId: "ami-1" },
  };
  const cluster = { spec: { clusterNetwork: clusterNetwork() } } as unknown as ClusterObject;
  const { hosts } = provider.compile(cluster, { region: "eu-north-1", zones: ["a"] }, [machine]);
  return hosts.get("cp-0") ?? {};
}

function warnedOf(spec: Partial<MachineSpec>): string[] {
  const metadata = { name: "cp-0", labels: { [clusterNameLabel]: "demo" } };
  const object = {
    apiVersion,
    kind: "Machine",
    metadata,
    spec: { versions, providerSpec: { value }, ...spec },
  };
  return checkIgnored(object as never, [provider]).map(({ path }) => path.join("."));
}

describe("a field that Machines of every provider share, on AWS", () => {
  for (const field of ignorableFields) {
    it(`changes the host or is warned of, and never both: ${field}`, () => {
      const [set, changed] = samples[field];
      const { kind } = provider.verdict("AwsInstance", hostOf(set), hostOf(changed));
      assert.equal(kind === "same", warnedOf(set).includes(`spec.${field}`));
    });
  }

  const want: Readonly<Record<IgnorableField, string>> = {
    "versions.containerRuntime": "replace",
    roles: "inPlace",
    configSource: "same",
    "metadata.labels": "inPlace",
    "metadata.annotations": "inPlace",
    taints: "inPlace",
  };
  for (const field of ignorableFields) {
    it(`takes no new instance unless it has to: ${field}`, () => {
      const [set, changed] = samples[field];
      const verdict = provider.verdict("AwsInstance", hostOf(set), hostOf(changed));
      assert.equal(verdict.kind, want[field]);
    });
  }

  it("that has no effect any more replaces no instance that was recorded with it", () => {
    const recorded = { ...hostOf({}), configSource: { configMap: { name: "a" } } };
    assert.equal(provider.verdict("AwsInstance", recorded, hostOf({})).kind, "same");
  });
});
