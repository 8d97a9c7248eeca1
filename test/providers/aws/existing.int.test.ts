import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Tag } from "@aws-sdk/client-ec2";
import { Sandbox } from "../../scenario/sandbox.js";
import { WatchedAccount } from "./watched-account.js";

const stack = "default.aws-demo";
const anywhere = "0.0.0.0/0";
const office = "203.0.113.0/24";
const Tags: Tag[] = [{ Key: "Name", Value: "theirs" }];

/** Of somebody else's network. */
interface Theirs {
  readonly vpcId: string;
  readonly subnetIds: readonly string[];
  readonly nodeGroupId: string;
  /** Public address of the NAT gateway that the private subnet goes out through. */
  readonly natAddress: string;
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
          `      apiServer: { allowedCidrs: [${office}] }`,
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

  /** Ranges that may reach the API. */
  const apiRanges = async () => {
    const { SecurityGroupRules = [] } = await account.ec2.describeSecurityGroupRules({});
    const ofApi = SecurityGroupRules.filter(
      ({ FromPort, CidrIpv4, IsEgress }) =>
        FromPort === 6443 && CidrIpv4 !== undefined && IsEgress !== true,
    );
    return ofApi.map(({ CidrIpv4 }) => CidrIpv4).sort();
  };

  /** The same cluster with a public host, which has a rule of its own. */
  const withPublicHost = async () => {
    const file = join(sandbox.manifests, "control-plane.yaml");
    const text = readFileSync(file, "utf8");
    const from = "      instanceType:";
    assert.ok(text.includes(from));
    writeFileSync(file, text.replace(from, `      publicIp: true\n${from}`));
    await sandbox.up();
    assert.match((await sandbox.plan(0)).stdout, /No changes/);
    const { Reservations = [] } = await account.ec2.describeInstances({
      Filters: [{ Name: "instance-state-name", Values: ["running"] }],
    });
    const [{ PublicIpAddress = "" } = {}] = Reservations.flatMap(({ Instances = [] }) => Instances);
    const wanted = [office, `${theirs.natAddress}/32`, `${PublicIpAddress}/32`];
    assert.deepEqual(await apiRanges(), wanted.sort());
    await sandbox.capstan(0, "destroy", "--yes", stack);
    assert.deepEqual(await apiRanges(), []);
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
    assert.deepEqual(await apiRanges(), [office, `${theirs.natAddress}/32`].sort());

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
    await withPublicHost();
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
async function networkOf({ ec2, server }: WatchedAccount): Promise<Theirs> {
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
  const { AllocationId, PublicIp: natAddress = "" } = await ec2.allocateAddress({});
  const nat = await ec2.createNatGateway({ SubnetId: subnetIds[0], AllocationId });
  const NatGatewayId = nat.NatGateway?.NatGatewayId ?? "";
  server.aws.advance(2 * 3_600_000);
  const inner = (await ec2.createRouteTable({ VpcId })).RouteTable?.RouteTableId ?? "";
  await ec2.createRoute({ RouteTableId: inner, DestinationCidrBlock: anywhere, NatGatewayId });
  await ec2.associateRouteTable({ RouteTableId: inner, SubnetId: subnetIds[1] });
  const { GroupId: nodeGroupId = "" } = await ec2.createSecurityGroup({
    GroupName: "nodes",
    Description: "theirs",
    VpcId,
    ...specified("security-group"),
  });
  // From then on every call shows it.
  server.aws.advance(60_000);
  return { vpcId: VpcId, subnetIds, nodeGroupId, natAddress };
}
