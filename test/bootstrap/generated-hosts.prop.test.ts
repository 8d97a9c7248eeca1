import assert from "node:assert/strict";
import fc from "fast-check";
import { parseAllDocuments } from "yaml";
import { checkKubeadmPatch } from "../../src/api/kubeadm-patch.js";
import { type ClusterKeys, newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { misfitOf } from "../../src/bootstrap/host/fitting.js";
import { hostBootstrap, type HostRole } from "../../src/bootstrap/host/host-bootstrap.js";
import { maskedSecrets, roleWith } from "../../src/bootstrap/host/host-secrets.js";
import { hostSettings } from "../../src/bootstrap/host/machine-settings.js";
import { packedUserData, userDataOf } from "../../src/bootstrap/host/user-data.js";
import { asJson } from "../../src/api/json.js";
import { misreadIn } from "../support/kubeadm-fields.js";
import { assertLaw, timesSeen } from "../support/laws.js";
import { machineOf, terms } from "./generated-machine.js";
import { cluster, desiredOf } from "../support/manifests.js";

const versions = ["1.25.16", "1.30.14", "1.31.14", "1.33.6", "1.35.0"];
const endpoint = { host: "api.example.org", port: 6443 };
const token = "plantd.0123456789abcdef";

describe("1,000 generated hosts", () => {
  let keys: ClusterKeys;
  before(async () => {
    keys = await newClusterKeys(Date.parse("2026-01-01T00:00:00Z"), "ECDSA-P256");
  });

  it("have configurations that kubeadm reads, fit or are refused before, and show no secret", () => {
    const planted = [keys.ca, keys.etcd, keys.frontProxy, keys.serviceAccount]
      .flatMap(({ privateKeyPem }) => privateKeyPem.split("\n"))
      .filter((line) => line !== "" && !line.startsWith("---"));
    assert.ok(planted.length > 10);
    const { cluster: object } = desiredOf([cluster()]);
    const seen = { fitting: 0, refused: 0 };
    const property = fc.property(machineOf(versions), terms, fc.boolean(), (one, its, isFirst) => {
      assert.deepEqual(checkKubeadmPatch(asJson(one.providerSpec["kubeadm"] as object)), []);
      const joins = one.controlPlane ? "joinControlPlane" : "joinWorker";
      const kind = isFirst && one.controlPlane ? "init" : joins;
      const members = one.controlPlane ? [one] : [];
      const made = (role: HostRole) =>
        hostBootstrap(
          hostSettings({ cluster: object, machine: one, members, terms: its, endpoint, role }),
        );
      const real = roleWith(kind, { keys, token, caCertHashes: [`sha256:${"a".repeat(64)}`] });
      const bootstrap = made(real);
      const text = userDataOf(bootstrap, its.format);
      assert.equal(text, userDataOf(made(real), its.format));
      const configuration = bootstrap.files.find(({ path }) => path.endsWith("/kubeadm.yaml"));
      for (const document of parseAllDocuments(configuration?.content ?? "")) {
        assert.deepEqual(document.errors, []);
        assert.deepEqual(misreadIn(document.toJS() as Record<string, unknown>), []);
      }
      const misfit = misfitOf(object, one, its);
      assert.deepEqual(misfitOf(object, one, its), misfit);
      const { counts, bytes } = its.limit ?? assert.fail();
      const size = counts === "packed" ? packedUserData(text).length : Buffer.byteLength(text);
      if (misfit === undefined) assert.ok(size <= bytes, `${size} of ${bytes} bytes`);
      else assert.match(misfit.reason, /would take \d+ bytes/);
      seen[misfit === undefined ? "fitting" : "refused"] += 1;
      const shown = made(roleWith(kind, maskedSecrets(keys)));
      const masked = JSON.stringify(shown.files) + userDataOf(shown, its.format);
      const decoded = masked.replace(/base64,([\w+/=]+)/g, (_, content: string) =>
        Buffer.from(content, "base64").toString(),
      );
      for (const secret of [...planted, token]) assert.ok(!decoded.includes(secret), secret);
    });
    assertLaw(property, 1_000);
    const isBoth = seen.fitting > timesSeen(100) && seen.refused > timesSeen(10);
    assert.ok(isBoth, JSON.stringify(seen));
  });
});
