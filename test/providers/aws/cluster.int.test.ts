import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ElasticLoadBalancingV2 } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { SecretsManager } from "@aws-sdk/client-secrets-manager";
import { Moto } from "../../provider/ec2/moto.js";
import { Sandbox } from "../../scenario/sandbox.js";
import { elbOf, secretsOf } from "./aws-moto.js";
import { MotoHosts } from "./hosts/moto-hosts.js";
import { RunningHosts } from "./hosts/running-hosts.js";

const stack = "default.aws-demo";

// Its workers join at an API server, and moto's hosts run nothing: what would run there is stood for.
describe("the example of AWS under the real engine, as moto has it", function () {
  this.timeout(400_000);
  let moto: Moto;
  let elb: ElasticLoadBalancingV2;
  let secrets: SecretsManager;
  let sandbox: Sandbox;
  let hosts: RunningHosts;

  before(async () => {
    moto = await Moto.start();
    secrets = secretsOf(moto);
    hosts = await RunningHosts.start(new MotoHosts(moto.ec2, secrets));
    await hosts.begin();
    elb = elbOf(moto);
    const { images } = await moto.account();
    for (const role of ["control-plane", "worker"]) {
      await moto.makeInstanceProfile(`capstan-${role}`);
    }
    sandbox = await Sandbox.make({ example: "aws" }, { env: moto.env });
    // moto has none of Canonical's images.
    for (const [name, type, indent] of [
      ["control-plane", "t3.medium", 6],
      ["workers", "t3.large", 10],
    ] as const) {
      const image = `\n${" ".repeat(indent)}image: { id: ${images[0]} }`;
      edit(`instanceType: ${type}`, `instanceType: ${type}${image}`, name);
    }
    const endpoint = `      apiServer: { endpoint: { host: 127.0.0.1, port: ${hosts.port} } }`;
    edit("      tags:", `${endpoint}\n      tags:`, "cluster");
  });
  after(async () => {
    await sandbox.close();
    elb.destroy();
    secrets.destroy();
    await hosts.stop();
    await moto.stop();
  });

  const edit = (from: string, to: string, name = "control-plane") => {
    const file = join(sandbox.manifests, `${name}.yaml`);
    const text = readFileSync(file, "utf8");
    assert.ok(text.includes(from), from);
    writeFileSync(file, text.replace(from, to));
  };

  const healthOf = async () => {
    const { TargetGroups: [group] = [] } = await elb.describeTargetGroups({});
    const TargetGroupArn = group?.TargetGroupArn;
    const { TargetHealthDescriptions = [] } = await elb.describeTargetHealth({ TargetGroupArn });
    const targets = TargetHealthDescriptions.flatMap(({ Target }) => Target?.Id ?? []);
    return { TargetGroupArn, targets };
  };

  /** Whatever bears marks, by kind of its id. */
  const marked = async () => {
    const { Tags = [] } = await moto.ec2.describeTags({
      Filters: [{ Name: "key", Values: ["capstan:token"] }],
    });
    const alive = new Set((await moto.alive()).map(({ InstanceId }) => InstanceId));
    const ids = Tags.map(({ ResourceId = "" }) => ResourceId);
    return ids.filter((id) => !id.startsWith("i-") || alive.has(id));
  };

  /** What bears marks and is still there: moto remembers the tags of what is gone. */
  const left = async () => {
    const { ec2 } = moto;
    const Filters = [{ Name: "tag-key", Values: ["capstan:token"] }];
    const { Vpcs = [] } = await ec2.describeVpcs({ Filters });
    const { Subnets = [] } = await ec2.describeSubnets({ Filters });
    const { InternetGateways = [] } = await ec2.describeInternetGateways({ Filters });
    const { Addresses = [] } = await ec2.describeAddresses({ Filters });
    const { NatGateways = [] } = await ec2.describeNatGateways({ Filter: Filters });
    const { RouteTables = [] } = await ec2.describeRouteTables({ Filters });
    const { SecurityGroups = [] } = await ec2.describeSecurityGroups({ Filters });
    const { Volumes = [] } = await ec2.describeVolumes({ Filters });
    const { LoadBalancers = [] } = await elb.describeLoadBalancers({});
    const { TargetGroups = [] } = await elb.describeTargetGroups({});
    const gateways = NatGateways.filter(({ State }) => State !== "deleted");
    const network = [Vpcs, Subnets, InternetGateways, Addresses, RouteTables, gateways];
    const others = [SecurityGroups, Volumes, LoadBalancers, TargetGroups];
    return [...network, ...others, await moto.alive()].flat();
  };

  const noChanges = async () => {
    const { stdout } = await sandbox.plan(0);
    assert.match(stdout, /No changes/);
  };

  /** Is planned without making anything, and then made as planned. */
  const isMadeAsPlanned = async () => {
    const planned = await sandbox.plan(2);
    const [, count] = /Plan: (\d+) to create/.exec(planned.stdout) ?? [];
    assert.deepEqual(await marked(), [], "a plan makes nothing");
    await sandbox.up();
    const { LoadBalancers = [] } = await elb.describeLoadBalancers({});
    const { targets } = await healthOf();
    // The load balancer, its group, its listener and the member's place in it are no resources of EC2.
    assert.equal((await marked()).length + 4, Number(count));
    assert.deepEqual([LoadBalancers.length, targets.length], [1, 1]);
    // What it was told at its first start is not kept any longer.
    assert.deepEqual((await secrets.listSecrets({})).SecretList, []);
    await noChanges();
  };

  /** The only member of the control plane, beside two workers. */
  const member = async () => {
    const alive = await moto.alive();
    const [host, ...others] = alive.filter(({ InstanceType }) => InstanceType === "t3.medium");
    assert.ok(host !== undefined && others.length === 0);
    assert.equal(alive.length, 3);
    return host;
  };

  /** Launches an instance in a private subnet, with IMDSv2, its volume and its groups. */
  const isPlacedAsAsked = async () => {
    const host = await member();
    const { Subnets: [subnet] = [] } = await moto.ec2.describeSubnets({
      SubnetIds: [host.SubnetId ?? ""],
    });
    assert.equal(subnet?.MapPublicIpOnLaunch, false);
    assert.equal(host.MetadataOptions?.HttpTokens, "required");
    assert.equal(host.SecurityGroups?.length, 3);
    const { Volumes = [] } = await moto.ec2.describeVolumes({
      Filters: [{ Name: "attachment.device", Values: ["/dev/sdf"] }],
    });
    assert.deepEqual(
      Volumes.map(({ Size, Attachments: [one] = [] }) => [Size, one?.InstanceId]),
      [[10, host.InstanceId]],
    );
  };

  /** Heals a rule that somebody deletes, and a target that somebody deregisters. */
  const healsWhatIsGone = async () => {
    const { SecurityGroupRules = [] } = await moto.ec2.describeSecurityGroupRules({
      Filters: [
        { Name: "tag:capstan:name", Values: ["controlplane-tcp-2379-2380-from-controlplane"] },
      ],
    });
    const { GroupId, SecurityGroupRuleId = "" } = SecurityGroupRules[0] ?? {};
    await moto.ec2.revokeSecurityGroupIngress({
      GroupId,
      SecurityGroupRuleIds: [SecurityGroupRuleId],
    });
    const { TargetGroupArn, targets } = await healthOf();
    await elb.deregisterTargets({
      TargetGroupArn,
      Targets: [{ Id: targets[0], Port: 6443 }],
    });
    const { stdout } = await sandbox.capstan(2, "drift", stack);
    assert.match(stdout, /controlplane-tcp-2379-2380-from-controlplane/);
    assert.match(stdout, /AwsTarget/);
    await sandbox.up();
    assert.deepEqual((await healthOf()).targets, targets);
    await noChanges();
  };

  /** Changes in place what can be: tags, the metadata service, the size of a volume, marks of the Node. */
  const changesInPlace = async () => {
    const before = await member();
    edit("gib: 10", "gib: 20");
    edit("      rootVolume:", "      metadata: { hopLimit: 2 }\n      rootVolume:");
    edit("spec:\n", "spec:\n  metadata: { labels: { tier: front } }\n");
    await sandbox.up();
    const host = await member();
    assert.equal(host.InstanceId, before.InstanceId);
    assert.equal(host.MetadataOptions?.HttpPutResponseHopLimit, 2);
    const { Volumes = [] } = await moto.ec2.describeVolumes({
      Filters: [{ Name: "attachment.device", Values: ["/dev/sdf"] }],
    });
    assert.deepEqual(
      Volumes.map(({ Size }) => Size),
      [20],
    );
    await noChanges();
  };

  /** Leaves nothing when it goes. */
  const leavesNothing = async () => {
    await sandbox.capstan(0, "destroy", "--yes", stack);
    assert.deepEqual(await left(), []);
  };

  it("is made as planned, healed, changed in place, and leaves nothing when it goes", async () => {
    await isMadeAsPlanned();
    await isPlacedAsAsked();
    await healsWhatIsGone();
    await changesInPlace();
    await leavesNothing();
  });
});
