import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { kubeadmVersions } from "#kubernetes";
import { keyAlgorithmAnnotation, keyAlgorithms } from "../../src/api/key-algorithm.js";
import { type ClusterKeys, newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { configurationPath, hostBootstrap } from "../../src/bootstrap/host/host-bootstrap.js";
import { roleWith } from "../../src/bootstrap/host/host-secrets.js";
import { hostSettings } from "../../src/bootstrap/host/machine-settings.js";
import { KubeadmHost } from "../support/kubeadm-host.js";
import { assertAsyncLaw } from "../support/laws.js";
import { cluster, desiredOf } from "../support/manifests.js";
import { scratchFolder } from "../support/scratch.js";
import { machineOf, terms } from "./generated-machine.js";
import { sampleToken } from "./sample-host.js";
import { removeFolder } from "../support/folders.js";

const endpoint = { host: "api.example.org", port: 6443 };
const caCertHashes = [`sha256:${"a".repeat(64)}`];

/** What the script fills in on the host. */
const filled: Readonly<Record<string, string>> = {
  "@capstan:name@": "host-1",
  "@capstan:address@": "192.0.2.11",
  "@capstan:providerId@": "sample://zone/host-1",
};

describe("kubeadm and generated hosts", function () {
  this.timeout(15 * 60_000);
  const scratch = scratchFolder();
  let keys: ClusterKeys;
  before(async () => {
    keys = await newClusterKeys(Date.parse("2026-01-01T00:00:00Z"), "ECDSA-P256");
  });

  // CAPSTAN_RUNS_TIMES=50 judges a thousand.
  it("finds each configuration valid, in the version that it is for", async () => {
    const algorithm = fc.constantFrom(...keyAlgorithms);
    const property = fc.asyncProperty(
      machineOf(kubeadmVersions),
      terms,
      algorithm,
      fc.boolean(),
      async (machine, its, keyAlgorithm, isFirst) => {
        const { cluster: object } = desiredOf([cluster()]);
        const annotations = { [keyAlgorithmAnnotation]: keyAlgorithm };
        const prod = { ...object, metadata: { ...object.metadata, annotations } };
        const joins = machine.controlPlane ? "joinControlPlane" : "joinWorker";
        const kind = isFirst && machine.controlPlane ? "init" : joins;
        const role = roleWith(kind, { keys, token: sampleToken, caCertHashes });
        const members = machine.controlPlane ? [machine] : [];
        const about = { cluster: prod, machine, members, terms: its, endpoint, role };
        const host = new KubeadmHost(
          join(scratch.path, "host"),
          hostBootstrap(hostSettings(about)),
        );
        const text = Object.entries(filled).reduce(
          (current, [place, value]) => current.replaceAll(place, value),
          host.read(configurationPath),
        );
        writeFileSync(host.path(configurationPath), text);
        const { kubelet } = machine.spec.versions;
        const { code, output } = await host.kubeadm(kubelet, "config", "validate");
        removeFolder(host.folder);
        assert.ok(code === 0 && !/unknown|strict/.test(output), `${output}\n${text}`);
      },
    );
    await assertAsyncLaw(property, 20);
  });
});
