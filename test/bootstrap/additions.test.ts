import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { parse } from "yaml";
import { checkHostAdditions } from "../../src/api/host-additions.js";
import { newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { deliveryOf } from "../../src/bootstrap/host/delivery.js";
import { hostBootstrap, type HostSettings } from "../../src/bootstrap/host/host-bootstrap.js";
import { packedUserData, userDataOf } from "../../src/bootstrap/host/user-data.js";
import { scratchFolder } from "../support/scratch.js";
import { HostSandbox } from "./host-sandbox.js";
import { sampleAdditions, sampleHost, sampleTemplates, sampleToken } from "./sample-host.js";

const token = { token: sampleToken, caCertHashes: [`sha256:${"a".repeat(64)}`] };
const osRelease = "ID=debian\nVERSION_CODENAME=trixie\n";

describe("what a user adds to a host", () => {
  const scratch = scratchFolder();

  const worker = (additions: HostSettings["additions"] = {}): HostSettings => ({
    ...sampleHost({ kind: "joinWorker", join: token }),
    additions,
  });

  /** A host on which the script has run. */
  const booted = async (settings: HostSettings, env = {}) => {
    const host = new HostSandbox(join(scratch.path, "host"), osRelease);
    const { files, script } = hostBootstrap(settings);
    for (const file of files) host.write(file);
    const { code } = await host.run(script, env);
    return { host, code };
  };

  it("is there before the commands, which run in their order around kubeadm", async () => {
    const additions = {
      ...sampleAdditions,
      preKubeadmCommands: ["systemctl before $(cat /etc/audit/rules.d/k8s.rules)", "exit 0"],
      postKubeadmCommands: ["unset PATH; set +e; false; true", 'systemctl after "it\'s"'],
    };
    const { host, code } = await booted(worker(additions));
    assert.equal(code, 0, host.read("/var/log/capstan-bootstrap.log"));
    const acts = host.calls.filter((call) =>
      /^(kubeadm join|systemctl (before|after)|apt-get install .*jq)/.test(call),
    );
    assert.match(acts[0] ?? "", / nfs-common jq=1\.7\.\*$/);
    assert.deepEqual(acts.slice(1), [
      "systemctl before -w /etc/kubernetes",
      "kubeadm join --config /etc/kubernetes/kubeadm.yaml",
      "systemctl after it's",
    ]);
    assert.equal(host.read("/run/cluster-api/bootstrap-success.complete"), "success\n");
  });

  it("fails the bootstrap where a command fails, and says which", async () => {
    for (const [field, calls] of [
      ["preKubeadmCommands", 0],
      ["postKubeadmCommands", 1],
    ] as const) {
      const { host, code } = await booted(worker({ [field]: ["true", "exit 3"] }));
      assert.equal(code, 3);
      const said = `capstan: bootstrap failed with 3 at: ${field}[1]`;
      assert.ok(host.read("/dev/console").startsWith(said), host.read("/dev/console"));
      const joined = host.calls.filter((call) => call.startsWith("kubeadm join"));
      assert.equal(joined.length, calls);
      host.remove();
    }
  });

  it("has its owner and its permissions in each format, and in a store", () => {
    const bootstrap = hostBootstrap(worker(sampleAdditions));
    const { write_files: written } = parse(userDataOf(bootstrap, "cloud-config")) as {
      write_files: { path: string; owner: string; permissions: string; content: string }[];
    };
    const [, own] = sampleAdditions.files ?? [];
    assert.deepEqual(
      written.find(({ path }) => path === own?.path),
      own,
    );
    const { storage } = JSON.parse(userDataOf(bootstrap, "ignition")) as {
      storage: { files: { path: string; mode: number; user?: object; group?: object }[] };
    };
    const file = storage.files.find(({ path }) => path === own?.path);
    assert.deepEqual(
      [file?.mode, file?.user, file?.group],
      [0o750, { name: "daemon" }, { name: "adm" }],
    );
    const store = { put: async () => {}, delete: async () => {}, fetchCommand: () => "cat secret" };
    const { secret } = deliveryOf(bootstrap, { format: "cloud-config", secrets: store }, "t");
    const archive = gunzipSync(secret?.content ?? assert.fail()).toString();
    assert.match(archive, /^chown 'daemon:adm' '\/opt\/it\/run'$/m);
  });

  it("may be user data of its own, filled with our script and what it is for", () => {
    const bootstrap = hostBootstrap(worker({ template: sampleTemplates.cloudConfig }));
    const text = userDataOf(bootstrap, "cloud-config");
    assert.match(text, /^# prod: worker with 1\.35\.3 and 1\.35\.3$/m);
    const { write_files: written } = parse(text) as { write_files: { content: string }[] };
    const script = gunzipSync(Buffer.from(written[0]?.content ?? "", "base64")).toString();
    execFileSync("sh", ["-n"], { input: script });
    for (const { path } of bootstrap.files) assert.ok(script.includes(`put '${path}' `), path);
    assert.ok(script.endsWith(`exec '${bootstrap.script}'\n`));
    assert.equal(userDataOf(bootstrap, "cloud-config"), text);
  });

  it("keeps its template where a store keeps the secrets, around what fetches them", () => {
    const bootstrap = hostBootstrap(worker({ template: sampleTemplates.script }));
    const store = { put: async () => {}, delete: async () => {}, fetchCommand: () => "cat secret" };
    const { userData } = deliveryOf(bootstrap, { format: "cloud-config", secrets: store }, "t");
    const [, packed = ""] = /^echo (\S+) \| base64 -d/m.exec(userData.text) ?? [];
    const script = gunzipSync(Buffer.from(packed, "base64")).toString();
    assert.match(script, /exec '\/usr\/local\/sbin\/capstan-fetch'\n$/);
    assert.ok(!userData.text.includes(sampleToken) && !script.includes(sampleToken));
  });

  it("leaves a member's user data small enough for 16 KiB in a template, too", async () => {
    const keys = await newClusterKeys(Date.parse("2026-01-01T00:00:00Z"), "ECDSA-P256");
    const member = sampleHost({ kind: "joinControlPlane", keys, join: token });
    const additions = { ...sampleAdditions, template: sampleTemplates.cloudConfig };
    const text = userDataOf(hostBootstrap({ ...member, additions }), "cloud-config");
    assert.ok(Buffer.byteLength(text) < 16_384, `${Buffer.byteLength(text)} bytes`);
    assert.ok(packedUserData(text).length < 12_288, `${packedUserData(text).length} bytes packed`);
  });

  it("takes the place of none of our files", async () => {
    const keys = await newClusterKeys(Date.parse("2026-01-01T00:00:00Z"), "ECDSA-P256");
    const member = sampleHost({ kind: "init", keys, token: sampleToken });
    for (const { path } of hostBootstrap(member).files) {
      const [fault] = checkHostAdditions({ files: [{ path, content: "" }] });
      assert.equal(fault?.code, "NOT_ALLOWED", path);
    }
  });
});
