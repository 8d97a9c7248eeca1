import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repository, Sandbox } from "../../scenario/sandbox.js";
import { Moto } from "./moto.js";

const stack = "default.ec2-demo";
const example = join(repository, "examples", "provider-ec2");

describe("a cluster on EC2 under the real engine, as moto has it", () => {
  let moto: Moto;
  let sandbox: Sandbox;

  beforeEach(async () => {
    moto = await Moto.start();
    const { vpcId, images } = await moto.account();
    const env = { ...moto.env, CAPSTAN_PROVIDERS: join(example, "network.js") };
    sandbox = await Sandbox.make({ objects: [] }, { env });
    const written = readFileSync(join(example, "cluster.yaml"), "utf8");
    const text = written
      .replaceAll(/vpc-0123456789abcdef0/g, vpcId)
      .replaceAll(/ami-0123456789abcdef0/g, images[0]);
    writeFileSync(manifest(), text);
  });
  afterEach(async () => {
    await sandbox.close();
    await moto.stop();
  });

  const manifest = () => join(sandbox.manifests, "cluster.yaml");

  const edit = (from: string, to: string) => {
    const text = readFileSync(manifest(), "utf8");
    assert.ok(text.includes(from), from);
    writeFileSync(manifest(), text.replace(from, to));
  };

  const ids = async () => (await moto.alive()).map(({ InstanceId }) => InstanceId ?? "").sort();

  /** What of the cluster is there beside its instances. */
  const infrastructure = async () => {
    const marked = { Filters: [{ Name: "tag-key", Values: ["capstan:token"] }] };
    const { Subnets = [] } = await moto.ec2.describeSubnets(marked);
    const { SecurityGroups = [] } = await moto.ec2.describeSecurityGroups(marked);
    return { subnets: Subnets, groups: SecurityGroups };
  };

  const types = async () =>
    (await moto.alive()).map(({ InstanceType }) => String(InstanceType)).sort();

  /** One subnet and one group, and every instance in both, with the marks of the cluster. */
  const mustBeWhole = async () => {
    const { subnets, groups } = await infrastructure();
    assert.deepEqual([subnets.length, groups.length], [1, 1]);
    assert.deepEqual(await types(), ["t3.large", "t3.large", "t3.medium"]);
    for (const { SubnetId, SecurityGroups = [], Tags = [] } of await moto.alive()) {
      const groupIds = SecurityGroups.map(({ GroupId }) => GroupId);
      const cluster = Tags.find(({ Key }) => Key === "capstan:cluster")?.Value;
      assert.deepEqual(
        { SubnetId, groupIds, cluster },
        {
          SubnetId: subnets[0]?.SubnetId,
          groupIds: [groups[0]?.GroupId],
          cluster: "default/ec2-demo",
        },
      );
    }
  };

  const noChanges = async () => {
    const { stdout } = await sandbox.plan(0);
    assert.match(stdout, /No changes/);
  };

  it("is made, healed, grown and changed in place, and leaves nothing when it goes", async () => {
    const planned = await sandbox.plan(2);
    assert.match(planned.stdout, /Plan: 5 to create/);
    assert.deepEqual(await moto.alive(), [], "a plan makes nothing");
    await sandbox.up();
    await mustBeWhole();
    await noChanges();

    const first = await ids();
    const [victim = ""] = (await moto.alive())
      .filter((one) => one.InstanceType === "t3.large")
      .map(({ InstanceId = "" }) => InstanceId);
    await moto.ec2.terminateInstances({ InstanceIds: [victim] });
    const drifted = await sandbox.plan(2);
    assert.match(drifted.stdout, /its host is gone from the cloud/);
    await sandbox.up();
    const healed = await ids();
    assert.deepEqual([healed.length, first.filter((id) => !healed.includes(id))], [3, [victim]]);

    edit("replicas: 2", "replicas: 3");
    edit("imageId: ami", "instanceType: t3.xlarge\n      imageId: ami");
    const changed = await sandbox.plan(2);
    assert.match(changed.stdout, /the instance is stopped and started/);
    await sandbox.up();
    const grown = await ids();
    assert.ok(grown.length === 4 && healed.every((id) => grown.includes(id)), grown.join(", "));
    assert.deepEqual(await types(), ["t3.large", "t3.large", "t3.large", "t3.xlarge"]);
    await noChanges();

    await sandbox.capstan(0, "destroy", "--yes", stack);
    assert.deepEqual(await moto.alive(), []);
    assert.deepEqual(await infrastructure(), { subnets: [], groups: [] });
  });
});
