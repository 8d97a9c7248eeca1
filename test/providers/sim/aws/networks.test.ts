import assert from "node:assert/strict";
import { at } from "../xml-tree.js";
import { SimAccount } from "./account.js";

describe("networks of the simulated AWS", () => {
  let account: SimAccount;
  let net: Awaited<ReturnType<SimAccount["network"]>>;

  beforeEach(async () => {
    account = new SimAccount();
    net = await account.network();
  });

  it("a VPC is pending at first, and has attributes", async () => {
    const state = () => account.text("DescribeVpcs", { VpcId: [net.vpcId] }, "vpcSet.0.state");
    assert.equal(await state(), "pending");
    account.advance(1_000);
    assert.equal(await state(), "available");
    const names = () =>
      account.text(
        "DescribeVpcAttribute",
        { VpcId: net.vpcId, Attribute: "enableDnsHostnames" },
        "enableDnsHostnames.value",
      );
    assert.equal(await names(), "false");
    await account.ec2("ModifyVpcAttribute", {
      VpcId: net.vpcId,
      EnableDnsHostnames: { Value: "true" },
    });
    assert.equal(await names(), "true");
  });

  it("an account has a default VPC with a subnet in each zone, unless the settings want none", async () => {
    const filter = [{ Name: "default-for-az", Value: ["true"] }];
    const subnets = await account.ec2("DescribeSubnets", { Filter: filter });
    const zones = [0, 1, 2].map((index) => at(subnets, `subnetSet.${index}.availabilityZone`));
    assert.deepEqual(zones, ["eu-north-1a", "eu-north-1b", "eu-north-1c"]);
    const bare = new SimAccount({ defaultVpc: false });
    assert.equal(await bare.text("DescribeVpcs", {}, "vpcSet"), "");
    const asked = {
      ImageId: await bare.image(),
      InstanceType: "t3.micro",
      MinCount: "1",
      MaxCount: "1",
    };
    assert.equal(await bare.code("ec2", "RunInstances", asked), "VPCIdNotSpecified");
  });

  it("a NAT gateway is pending, available, deleting, deleted, and gone", async () => {
    const AllocationId = await account.text("AllocateAddress", {}, "allocationId");
    const asked = { SubnetId: net.subnetId, AllocationId };
    const id = await account.text("CreateNatGateway", asked, "natGateway.natGatewayId");
    const state = () =>
      account.text("DescribeNatGateways", { NatGatewayId: [id] }, "natGatewaySet.0.state");
    const states = [await state()];
    account.advance(60_000);
    states.push(await state());
    await account.ec2("DeleteNatGateway", { NatGatewayId: id });
    states.push(await state());
    account.advance(60_000);
    states.push(await state());
    assert.deepEqual(states, ["pending", "available", "deleting", "deleted"]);
    account.advance(3_600_000);
    assert.equal(
      await account.code("ec2", "DescribeNatGateways", { NatGatewayId: [id] }),
      "NatGatewayNotFound",
    );
  });

  it("a public NAT gateway without an internet gateway is accepted, and fails with the reason", async () => {
    const { vpcId, subnetId, gatewayId } = net;
    await account.ec2("DetachInternetGateway", { VpcId: vpcId, InternetGatewayId: gatewayId });
    const AllocationId = await account.text("AllocateAddress", {}, "allocationId");
    const made = await account.ec2("CreateNatGateway", { SubnetId: subnetId, AllocationId });
    assert.equal(at(made, "natGateway.state"), "failed");
    assert.equal(at(made, "natGateway.failureCode"), "Gateway.NotAttached");
    assert.equal(
      await account.code("ec2", "ReleaseAddress", { AllocationId }),
      "",
      "it never had it",
    );
  });

  it("routes are made, replaced and deleted, and end in a black hole with their gateway", async () => {
    const { vpcId, gatewayId } = net;
    const RouteTableId = await account.text(
      "CreateRouteTable",
      { VpcId: vpcId },
      "routeTable.routeTableId",
    );
    const route = { RouteTableId, DestinationCidrBlock: "0.0.0.0/0", GatewayId: gatewayId };
    const code = (action: string, asked = {}) =>
      account.code("ec2", action, { ...route, ...asked });
    assert.equal(await code("ReplaceRoute"), "InvalidParameterValue");
    assert.equal(await code("CreateRoute"), "");
    assert.equal(await code("CreateRoute"), "RouteAlreadyExists");
    assert.equal(await code("ReplaceRoute"), "");
    assert.equal(
      await code("CreateRoute", { GatewayId: "igw-0123456789abcdef0" }),
      "InvalidGatewayID.NotFound",
    );
    const state = () =>
      account.text(
        "DescribeRouteTables",
        { RouteTableId: [RouteTableId] },
        "routeTableSet.0.routeSet.1.state",
      );
    assert.equal(await state(), "active");
    await account.ec2("DetachInternetGateway", { VpcId: vpcId, InternetGatewayId: gatewayId });
    assert.equal(await state(), "blackhole");
    const gone = { RouteTableId, DestinationCidrBlock: "0.0.0.0/0" };
    await account.ec2("DeleteRoute", gone);
    assert.equal(await account.code("ec2", "DeleteRoute", gone), "InvalidRoute.NotFound");
    const local = { RouteTableId, DestinationCidrBlock: "10.0.0.0/16" };
    assert.equal(await account.code("ec2", "DeleteRoute", local), "InvalidParameterValue");
  });

  it("a subnet has one route table, which can be replaced", async () => {
    const { vpcId, subnetId } = net;
    const make = () =>
      account.text("CreateRouteTable", { VpcId: vpcId }, "routeTable.routeTableId");
    const [first, second] = [await make(), await make()];
    const asked = { RouteTableId: first, SubnetId: subnetId };
    const AssociationId = await account.text("AssociateRouteTable", asked, "associationId");
    const taken = await account.code("ec2", "AssociateRouteTable", {
      ...asked,
      RouteTableId: second,
    });
    assert.equal(taken, "Resource.AlreadyAssociated");
    await account.ec2("ReplaceRouteTableAssociation", { AssociationId, RouteTableId: second });
    const Filter = [{ Name: "association.subnet-id", Value: [subnetId] }];
    assert.equal(
      await account.text("DescribeRouteTables", { Filter }, "routeTableSet.0.routeTableId"),
      second,
    );
    assert.equal(await account.code("ec2", "DeleteRouteTable", { RouteTableId: first }), "");
  });

  it("an address moves from interface to interface, and one of a service stays with it", async () => {
    const { subnetId, groupId } = net;
    const [one, other] = [
      await account.instance(subnetId, groupId),
      await account.instance(subnetId, groupId),
    ];
    const AllocationId = await account.text("AllocateAddress", {}, "allocationId");
    await account.ec2("AssociateAddress", { AllocationId, InstanceId: one });
    const refused = { AllocationId, InstanceId: other, AllowReassociation: "false" };
    assert.equal(
      await account.code("ec2", "AssociateAddress", refused),
      "Resource.AlreadyAssociated",
    );
    await account.ec2("AssociateAddress", { AllocationId, InstanceId: other });
    const holder = await account.text("DescribeAddresses", {}, "addressesSet.0.instanceId");
    assert.equal(holder, other);
    await account.ec2("TerminateInstances", { InstanceId: [other] });
    account.advance(60_000);
    assert.equal(await account.text("DescribeAddresses", {}, "addressesSet.0.associationId"), "");
  });

  it("volumes are made, attached, changed, detached and deleted, each in its time", async () => {
    const { subnetId, groupId } = net;
    const InstanceId = await account.instance(subnetId, groupId);
    const asked = { AvailabilityZone: "eu-north-1a", Size: "10", VolumeType: "gp3" };
    const VolumeId = await account.text("CreateVolume", asked, "volumeId");
    const code = (action: string, more = {}) => account.code("ec2", action, { VolumeId, ...more });
    const attach = { InstanceId, Device: "/dev/sdf" };
    assert.equal(await code("AttachVolume", attach), "IncorrectState");
    account.advance(3_000);
    assert.equal(await code("AttachVolume", attach), "");
    account.advance(3_000);
    assert.equal(await code("DeleteVolume"), "VolumeInUse");
    assert.equal(await code("ModifyVolume", { Size: "5" }), "InvalidParameterValue");
    assert.equal(await code("ModifyVolume", { Size: "20" }), "");
    assert.equal(await code("ModifyVolume", { Size: "30" }), "VolumeModificationRateExceeded");
    assert.equal(await code("DetachVolume"), "");
    account.advance(3_000);
    assert.equal(await code("DetachVolume"), "IncorrectState");
    assert.equal(await code("DeleteVolume"), "");
    const root = { VolumeId: account.ids("volumes")[0] ?? "" };
    assert.equal(await account.code("ec2", "DetachVolume", root), "OperationNotPermitted");
  });

  it("a volume of another zone is not attached", async () => {
    const InstanceId = await account.instance(net.subnetId, net.groupId);
    const VolumeId = await account.text(
      "CreateVolume",
      { AvailabilityZone: "eu-north-1b", Size: "10" },
      "volumeId",
    );
    account.advance(3_000);
    const attach = { VolumeId, InstanceId, Device: "/dev/sdf" };
    assert.equal(await account.code("ec2", "AttachVolume", attach), "InvalidVolume.ZoneMismatch");
  });

  it("rules are shown as permissions by ports, and as rules with ids, and can be changed", async () => {
    const { groupId } = net;
    const peers = {
      IpRanges: [{ CidrIp: "10.0.0.1/8", Description: "all" }],
      Groups: [{ GroupId: groupId }],
    };
    const IpPermissions = [{ IpProtocol: "6", FromPort: "80", ToPort: "81", ...peers }];
    const made = await account.ec2("AuthorizeSecurityGroupIngress", {
      GroupId: groupId,
      IpPermissions,
    });
    const group = () => account.ec2("DescribeSecurityGroups", { GroupId: [groupId] });
    const permission = at(await group(), "securityGroupInfo.0.ipPermissions.0");
    assert.equal(at(permission, "ipProtocol"), "tcp");
    assert.equal(at(permission, "ipRanges.0.cidrIp"), "10.0.0.0/8");
    assert.equal(at(permission, "groups.0.groupId"), groupId);
    const SecurityGroupRuleId = at(made, "securityGroupRuleSet.0.securityGroupRuleId");
    const SecurityGroupRule = {
      IpProtocol: "tcp",
      FromPort: "80",
      ToPort: "80",
      CidrIpv4: "10.0.0.0/16",
    };
    const update = { SecurityGroupRule: [{ SecurityGroupRuleId, SecurityGroupRule }] };
    await account.ec2("ModifySecurityGroupRules", { GroupId: groupId, ...update });
    await account.ec2("RevokeSecurityGroupIngress", {
      GroupId: groupId,
      SecurityGroupRuleId: [SecurityGroupRuleId],
    });
    const left = at(await group(), "securityGroupInfo.0.ipPermissions");
    assert.deepEqual([at(left, "0.ipRanges"), at(left, "0.groups.0.groupId")], ["", groupId]);
  });

  it("tags are set, found, and taken away", async () => {
    const { vpcId, subnetId } = net;
    const Tag = [
      { Key: "a", Value: "1" },
      { Key: "b", Value: "2" },
    ];
    await account.ec2("CreateTags", { ResourceId: [vpcId, subnetId], Tag });
    const Filter = [{ Name: "tag:a", Value: ["1"] }];
    assert.equal(
      await account.text("DescribeSubnets", { Filter }, "subnetSet.0.subnetId"),
      subnetId,
    );
    await account.ec2("DeleteTags", {
      ResourceId: [vpcId],
      Tag: [{ Key: "a", Value: "other" }, { Key: "b" }],
    });
    const left = await account.ec2("DescribeTags", {
      Filter: [{ Name: "resource-id", Value: [vpcId] }],
    });
    assert.deepEqual(at(left, "tagSet"), [
      { resourceId: vpcId, resourceType: "vpc", key: "a", value: "1" },
    ]);
  });
});
