import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { findIgnitionValidate } from "#ignition";
import { type ClusterKeys, newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import {
  type HostBootstrap,
  hostBootstrap,
  type HostSettings,
} from "../../src/bootstrap/host/host-bootstrap.js";
import { userDataOf } from "../../src/bootstrap/host/user-data.js";
import { upgradeBundle, upgradeCommand } from "../../src/bootstrap/upgrade/upgrade-bundle.js";
import { type HostSetup, upgradeOf } from "../../src/bootstrap/upgrade/upgrade-steps.js";
import { endOf } from "../support/kubeadm-host.js";
import { scratchFolder } from "../support/scratch.js";
import { sampleAdditions, sampleHost, sampleTemplates, sampleToken } from "./sample-host.js";
import { cloudConfigFaults, unfilledPlaces } from "./user-data-check.js";

/** Of cloud-init's own schema: the keys that its modules read. Its program is one of Debian's Python. */
const keysProgram = `
from cloudinit.config.schema import get_schema
schema = get_schema()
modules = [schema["$defs"][one["$ref"].split("/")[-1]] for one in schema["allOf"]]
for key in sorted({key for module in modules for key in module.get("properties", {})}):
    print(key)
`;

describe("user data, judged by who reads it", () => {
  const scratch = scratchFolder();
  let keys: ClusterKeys;
  let bootstraps: readonly HostBootstrap[];
  before(async () => {
    keys = await newClusterKeys(Date.now(), "RSA-2048");
    bootstraps = hosts().map(hostBootstrap);
  });

  function hosts(): HostSettings[] {
    const token = { token: sampleToken, caCertHashes: [`sha256:${"a".repeat(64)}`] };
    const init = sampleHost({ kind: "init", keys, token: sampleToken });
    const member = sampleHost({ kind: "joinControlPlane", keys, join: token });
    const asked = {
      name: { command: "hostname" },
      address: { command: "hostname -I | cut -d' ' -f1" },
      providerId: { command: "cat /run/provider-id" },
    };
    const worker = sampleHost({ kind: "joinWorker", join: token }, {}, asked);
    const crio = { name: "cri-o", version: "1.35.1" };
    return [
      init,
      { ...member, source: "image" },
      worker,
      { ...worker, runtime: crio },
      { ...worker, runtime: crio, source: "image" },
      { ...worker, additions: sampleAdditions },
      sampleHost({ kind: "joinControlPlane", keys: { ...keys, alsoTrusted: [keys] }, join: token }),
    ];
  }

  /** Scripts that change hosts in place, and what brings them there: every step, and few of them. */
  function upgrades(): string[] {
    const [from] = hosts();
    assert.ok(from !== undefined);
    const { kubeletConfiguration: _, ...node } = from.node;
    const wanted: HostSetup[] = [
      {
        ...from,
        node: { ...node, kubernetesVersion: "1.36.0", ignorePreflightErrors: ["NumCPU", "Mem"] },
        runtime: { name: "containerd", version: "2.2.0" },
      },
      { ...from, node },
    ];
    return wanted.flatMap((to) => {
      const upgrade = upgradeOf(from, to, "firstMember");
      assert.ok(upgrade.kind === "steps");
      const bundle = upgradeBundle(upgrade.steps, to);
      return [scriptOf(bundle), upgradeCommand(bundle)];
    });
  }

  /** What a judge says of a text: nothing, or why it refuses it. */
  async function verdict(program: string, args: readonly string[], text: string): Promise<string> {
    const file = join(scratch.path, "judged");
    writeFileSync(file, text);
    const { code, output } = await endOf(program, [...args, file]);
    return code === 0 ? "" : output;
  }
  const cloudInit = (text: string) => verdict("cloud-init", ["schema", "--config-file"], text);
  // SC1091 says that it was not given the host's /etc/os-release.
  const shellcheck = (text: string) =>
    verdict("shellcheck", ["--shell=sh", "--exclude=SC1091"], text);
  const ignition = (text: string) => {
    const program = findIgnitionValidate(process.env);
    assert.ok(program !== undefined, "no ignition-validate: run npm test, which sets it up");
    return verdict(program, [], text);
  };
  const scriptOf = ({ files, script }: Pick<HostBootstrap, "files" | "script">): string =>
    files.find(({ path }) => path === script)?.content ?? "";

  it("cloud-init's schema takes every cloud-config, and refuses a mutant of one", async () => {
    for (const bootstrap of bootstraps) {
      assert.equal(await cloudInit(userDataOf(bootstrap, "cloud-config")), "");
    }
    const text = userDataOf(bootstraps[0] ?? assert.fail(), "cloud-config");
    for (const mutant of [
      text.replace("permissions:", "mode:"),
      text.replace("runcmd:\n  - - ", "runcmd:\n  - script: "),
    ]) {
      assert.notEqual(mutant, text);
      assert.match(await cloudInit(mutant), /Invalid cloud-config|errors/);
    }
  });

  it("every key of it is one that cloud-init reads, which its schema does not ask", async () => {
    const { code, output } = await endOf("/usr/bin/python3", ["-c", keysProgram]);
    assert.equal(code, 0, output);
    const known = new Set(output.split("\n"));
    for (const bootstrap of bootstraps) {
      assert.deepEqual(cloudConfigFaults(userDataOf(bootstrap, "cloud-config"), known), []);
    }
    const text = userDataOf(bootstraps[0] ?? assert.fail(), "cloud-config");
    const mutant = text.replace("runcmd:", "run_cmd:");
    assert.equal(await cloudInit(mutant), "", "cloud-init says it by now: the check is not needed");
    assert.deepEqual(cloudConfigFaults(mutant, known), ["no module of cloud-init reads run_cmd"]);
    assert.deepEqual(cloudConfigFaults(text.slice(1), known), ["it begins with cloud-config"]);
  });

  it("every place for what only the host knows is filled by its script", () => {
    for (const bootstrap of bootstraps) assert.deepEqual(unfilledPlaces(bootstrap), []);
    const asking = bootstraps[2] ?? assert.fail();
    const files = asking.files.map((file) => ({
      ...file,
      content: file.content.replace(/.*s\|@capstan:name@.*\n/, ""),
    }));
    assert.deepEqual(unfilledPlaces({ ...asking, files }), [
      "/etc/kubernetes/kubeadm.yaml: @capstan:name@",
    ]);
  });

  it("takes our script in a template of the user's own, in each of its formats", async () => {
    const [host] = hosts();
    assert.ok(host !== undefined);
    const cloudConfig = userDataOf(
      hostBootstrap({ ...host, additions: { template: sampleTemplates.cloudConfig } }),
      "cloud-config",
    );
    assert.equal(await cloudInit(cloudConfig), "");
    const ignitionText = userDataOf(
      hostBootstrap({ ...host, additions: { template: sampleTemplates.ignition } }),
      "ignition",
    );
    assert.equal(await ignition(ignitionText), "");
  });

  it("ignition-validate takes every Ignition configuration, and refuses a mutant of one", async () => {
    for (const bootstrap of bootstraps) {
      assert.equal(await ignition(userDataOf(bootstrap, "ignition")), "");
    }
    const text = userDataOf(bootstraps[0] ?? assert.fail(), "ignition");
    for (const mutant of [
      text.replace(/"mode":\d+/, '"mode":"0644"'),
      text.replace('"version":"3', '"version":"9'),
      text.replace('"path":"/', '"path":"'),
    ]) {
      assert.notEqual(mutant, text);
      assert.notEqual(await ignition(mutant), "");
    }
  });

  it("shellcheck has nothing to say of any script, and something of a mutant", async () => {
    for (const bootstrap of bootstraps) assert.equal(await shellcheck(scriptOf(bootstrap)), "");
    for (const text of upgrades()) assert.equal(await shellcheck(text), "");
    const script = scriptOf(bootstraps[2] ?? assert.fail());
    const mutant = script.replace('[ -n "$value" ]', "[ -n $value ]");
    assert.match(await shellcheck(mutant), /SC2070/);
  });
});
