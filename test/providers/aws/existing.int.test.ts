import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Tag } from "@aws-sdk/client-ec2";
import { Sandbox } from "../../scenario/sandbox.js";
import { WatchedAccount } from "./watched-account.js";

const stack = "default.aws-demo";
const anywhere = "0.0.0.0/0";
const Tags: Tag[] = [{ Key: "Name", Value: "theirs" }];

/** Of somebody else's network. */
interface Theirs {
  readonly vpcId: string;
  readonly subnetIds: readonly string[];
  readonly nodeGroupId: string;
}

describe("a cluster on AWS in a network that is there", () => {
  let account: WatchedAccount;
  let sandbox: Sandbox;
  let theirs: Theirs;

  before(async () => {
    account = await WatchedAccount.start();
    theirs = await networkOf(account);
    sandbox = await Sandbox.make({ example: "aws" }, { env: account.env });
    rmSync(join(sandbox.manifests, "workers.yaml"));
  });
  after(async () => {
    await sandbox.close();
    await account.stop();
  });

  /** The Cluster of the example, in a network that it finds by name. */
  const searches = () => {
    const file = join(sandbox.manifests, "cluster.yaml");
    const text = readFileSync(file, "utf8");
    const from = "      zones: [eu-north-1a, eu-north-1b]\n";
    assert.ok(text.includes(from));
    const named = "filters: [{ name: tag:Name, values: [theirs] }]";
    writeFileSync(
      file,
      text.replace(
        from,
        [
          `      vpc: { ${named} }`,
          `      subnetFilters: [{ name: tag:Name, values: [theirs] }]`,
          `      securityGroups: { node: { ${named} } }`,
          ``,
        ].join("\n"),
      ),
    );
  };

  /** What there is of somebody else's, as they see it. */
  const view = async () => {
    const { ec2 } = account;
    const inVpc = { Filters: [{ Name: "vpc-id", Values: [theirs.vpcId] }] };
    const { Vpcs } = await ec2.describeVpcs(inVpc);
    const { Subnets = [] } = await ec2.describeSubnets(inVpc);
    const { RouteTables = [] } = await ec2.describeRouteTables(inVpc);
    const { SecurityGroups = [] } = await ec2.describeSecurityGroups({
      GroupIds: [theirs.nodeGroupId],
    });
    const { InternetGateways } = await ec2.describeInternetGateways({});
    // An address that a host has taken is no longer counted.
    const subnets = Subnets.map(({ AvailableIpAddressCount: _count, ...others }) => others);
    return { Vpcs, subnets, RouteTables, SecurityGroups, InternetGateways };
  };

  it("finds it by filters, uses it, and leaves it as it was", async () => {
    searches();
    const [before, rows] = [await view(), account.rows()];
    const { steps } = await sandbox.planDocument(2);
    const kinds = [...new Set(steps.map(({ key }) => key.split("/")[0] ?? ""))];
    for (const kind of ["AwsVpc", "AwsSubnet", "AwsRouteTable", "AwsNatGateway"]) {
      assert.ok(!kinds.includes(kind), kinds.join());
    }
    await sandbox.up();
    assert.match((await sandbox.plan(0)).stdout, /No changes/);
    assert.deepEqual(await view(), before);

    const { Reservations = [] } = await account.ec2.describeInstances({});
    const [host, ...others] = Reservations.flatMap(({ Instances = [] }) => Instances);
    assert.deepEqual(others, []);
    assert.equal(host?.SubnetId, theirs.subnetIds[1], "in the private one");
    const groups = host?.SecurityGroups?.map(({ GroupId }) => GroupId) ?? [];
    assert.ok(groups.includes(theirs.nodeGroupId) && groups.length === 3, groups.join());
    const { LoadBalancers = [] } = await account.elb.describeLoadBalancers({});
    assert.deepEqual(
      LoadBalancers.map(({ AvailabilityZones = [] }) =>
        AvailabilityZones.map(({ SubnetId }) => SubnetId),
      ),
      [[theirs.subnetIds[0]]],
      "in the public one",
    );

    await sandbox.capstan(0, "destroy", "--yes", stack);
    account.server.aws.advance(2 * 3_600_000);
    assert.deepEqual(await view(), before);
    assert.deepEqual(account.rows(), rows);
  });

  it("follows what capstan init says comes next", async () => {
    const folder = join(sandbox.folder, "fresh");
    const { stdout } = await sandbox.capstan(0, "init", "--provider", "aws", folder);
    const [, next = ""] = /^Next: capstan (.*), then capstan /m.exec(stdout) ?? [];
    const planned = await sandbox.capstan(2, ...next.split(" "));
    assert.match(planned.stdout, /Plan: \d+ to create/);
  });
});

/** A VPC with a public and a private subnet of one zone, as another team has made it. */
async function networkOf({ ec2 }: WatchedAccount): Promise<Theirs> {
  const specified = (ResourceType: "vpc" | "subnet" | "security-group") => ({
    TagSpecifications: [{ ResourceType, Tags }],
  });
  const { Vpc } = await ec2.createVpc({ CidrBlock: "10.7.0.0/16", ...specified("vpc") });
  const VpcId = Vpc?.VpcId ?? "";
  const subnetIds: string[] = [];
  for (const CidrBlock of ["10.7.0.0/24", "10.7.1.0/24"]) {
    const AvailabilityZone = "eu-north-1b";
    const { Subnet } = await ec2.createSubnet({
      VpcId,
      CidrBlock,
      AvailabilityZone,
      ...specified("subnet"),
    });
    subnetIds.push(Subnet?.SubnetId ?? "");
  }
  const { InternetGateway } = await ec2.createInternetGateway({});
  const GatewayId = InternetGateway?.InternetGatewayId ?? "";
  await ec2.attachInternetGateway({ InternetGatewayId: GatewayId, VpcId });
  const { RouteTable } = await ec2.createRouteTable({ VpcId });
  const RouteTableId = RouteTable?.RouteTableId ?? "";
  await ec2.createRoute({ RouteTableId, DestinationCidrBlock: anywhere, GatewayId });
  await ec2.associateRouteTable({ RouteTableId, SubnetId: subnetIds[0] });
  const { GroupId: nodeGroupId = "" } = await ec2.createSecurityGroup({
    GroupName: "nodes",
    Description: "theirs",
    VpcId,
    ...specified("security-group"),
  });
  return { vpcId: VpcId, subnetIds, nodeGroupId };
}
