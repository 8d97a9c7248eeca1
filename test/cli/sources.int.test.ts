import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";

const member: ScenarioCluster = { machines: { "cp-0": { controlPlane: true } } };

const gpu = {
  apiVersion: "cluster.k8s.io/v1alpha1",
  kind: "Machine",
  metadata: { name: "gpu-0", labels: { "cluster.k8s.io/cluster-name": "demo" } },
  spec: {
    versions: { kubelet: "1.34.2" },
    providerSpec: {
      value: { apiVersion: "local.capstan.dev/v1alpha1", kind: "LocalMachineProviderSpec" },
    },
  },
};

describe("the manifests that capstan env writes for a plain pulumi", () => {
  let sandbox: Sandbox;

  copyForEachTest(member, (copy) => {
    sandbox = copy;
    mkdirSync(join(copy.folder, "gpu"));
    writeFileSync(join(copy.folder, "gpu", "gpu.yaml"), stringify(gpu));
    writeFileSync(join(copy.folder, "Pulumi.yaml"), "name: capstan\nruntime: nodejs\n");
  });

  const upWithGpu = (code: number) =>
    sandbox.capstan(
      code,
      "up",
      "--yes",
      "-f",
      sandbox.manifests,
      "-f",
      join(sandbox.folder, "gpu"),
    );

  const manifests = async (): Promise<unknown> => {
    await sandbox.capstan(0, "env", demoStack);
    const text = readFileSync(join(sandbox.folder, `Pulumi.${demoStack}.yaml`), "utf8");
    return (parse(text) as { config: Record<string, unknown> }).config["capstan:manifests"];
  };

  it("are those that led to the revision, not those of an up that was taken back", async () => {
    await sandbox.up();
    assert.equal(await manifests(), "manifests");
    await sandbox.cloud.fault("create", "fail", { name: "gpu-0" });
    await upWithGpu(1);
    assert.equal(await manifests(), "manifests");
    await upWithGpu(0);
    assert.equal(await manifests(), "manifests,gpu");
  });
});
