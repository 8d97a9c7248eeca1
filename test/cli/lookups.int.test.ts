import assert from "node:assert/strict";
import { join } from "node:path";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { demoStack, type ScenarioCluster } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";

const shape = (replicas = 1): ScenarioCluster => ({
  machines: { "cp-0": { controlPlane: true } },
  deployments: { web: { replicas, template: { imageFamily: "ubuntu" } } },
});

// What is asked again, kept, and refused: test/engine/found-facts.test.ts.
describe("what is looked up", () => {
  let sandbox: Sandbox;
  let firstPlan: string;

  copyForEachTest(
    shape(),
    (copy) => {
      sandbox = copy;
    },
    async (first) => {
      firstPlan = (await first.plan(2)).stdout;
      await first.up();
    },
  );

  const plan = (code: number, ...words: string[]) =>
    sandbox.capstan(code, "plan", ...words, "-f", sandbox.manifests);
  const newImage = (name: string) => sandbox.capstan(0, "local", "image", "ubuntu", name);
  const imagesOf = (prefix: string) =>
    sandbox
      .rows()
      .filter(
        ({ kind, state, name }) =>
          kind === "LocalHost" && state !== "terminated" && name.startsWith(prefix),
      )
      .map(({ spec }) => (spec as { image?: string }).image);

  it("is shown, pinned, and looked up again only when somebody asks", async () => {
    assert.match(
      firstPlan,
      /Looked up for MachineDeployment web \(imageFamily ubuntu\): image local\/ubuntu-24\.04/,
    );
    assert.deepEqual(imagesOf("web"), ["local/ubuntu-24.04"]);
    await newImage("local/ubuntu-26.04");
    assert.doesNotMatch((await plan(0)).stdout, /Looked up/);
    const saved = join(sandbox.folder, "saved.json");
    assert.match(
      (await plan(2, "--refresh-lookups", "--out", saved)).stdout,
      /image local\/ubuntu-24\.04 -> local\/ubuntu-26\.04/,
    );
    await newImage("local/ubuntu-28.04");
    await sandbox.capstan(0, "up", "--plan", saved);
    assert.deepEqual(imagesOf("web"), ["local/ubuntu-26.04"]);
    assert.match((await plan(0)).stdout, /No changes/);
    await sandbox.assertSound(demoStack);
  });

  it("is read from the records by a plain pulumi up as well", async () => {
    await sandbox.cloud.addImage("ubuntu", "local/ubuntu-26.04");
    sandbox.write(shape(2));
    await sandbox.plain(0, "up", demoStack, "--yes", "--skip-preview");
    assert.deepEqual(imagesOf("web"), ["local/ubuntu-24.04", "local/ubuntu-24.04"]);
    assert.match((await plan(0)).stdout, /No changes/);
  });
});

describe("a network that is not the cluster's", () => {
  let sandbox: Sandbox;
  let network: string;

  copyForEachTest(
    { machines: {} },
    (copy) => {
      sandbox = copy;
    },
    async (first) => {
      const made = await first.capstan(0, "local", "network", "--cidr", "10.9.0.0/16");
      network = made.stdout.trim();
      first.write({ network, machines: {} });
      await first.up();
    },
  );

  const networks = () => sandbox.rows().filter(({ kind }) => kind === "LocalNetwork");

  it("is used, shown, and left as it is by everything", async () => {
    const before = networks();
    sandbox.write({ network, machines: { "cp-0": { controlPlane: true }, a: {} } });
    const { stdout } = await sandbox.capstan(2, "plan", "-f", sandbox.manifests);
    assert.match(stdout, new RegExp(`network +external +${network}`));
    await sandbox.up();
    const hosts = sandbox.rows().filter(({ kind }) => kind === "LocalHost");
    assert.deepEqual(
      hosts.map(({ spec }) => (spec as { networkId?: string }).networkId),
      [network, network],
    );
    assert.match((await sandbox.up()).stdout, /No changes/);
    const told = await sandbox.capstan(0, "describe", demoStack);
    assert.match(told.stdout, new RegExp(`network +external +${network}`));
    await sandbox.capstan(0, "drift", demoStack);
    await sandbox.capstan(0, "destroy", demoStack, "--yes");
    assert.deepEqual(networks(), before);
    assert.deepEqual(
      sandbox.mutations(0).filter(({ id }) => id === network),
      [],
    );
  });

  it("has to be there before anything begins", async () => {
    sandbox.write({
      name: "other",
      network: "net-none",
      machines: { "cp-0": { controlPlane: true } },
    });
    const missing = await sandbox.capstan(65, "plan", "-f", sandbox.manifests);
    assert.match(
      missing.stderr,
      /cluster\.yaml:\d+:\d+: cannot use LocalNetwork network: the cloud has no LocalNetwork net-none/,
    );
  });

  it("shows as drift once it is gone, and stops plans", async () => {
    const [balancer = ""] = sandbox
      .rows()
      .filter(({ kind }) => kind === "LocalLoadBalancer")
      .map(({ id }) => id);
    await sandbox.cloud.kill(balancer);
    await sandbox.cloud.kill(network);
    const { stdout } = await sandbox.capstan(2, "drift", demoStack);
    assert.match(stdout, /missing +LocalNetwork network/);
    assert.match(stdout, /only reported: it is not ours/);
    await sandbox.capstan(65, "plan", "-f", sandbox.manifests);
    await sandbox.capstan(0, "destroy", demoStack, "--yes");
  });
});
