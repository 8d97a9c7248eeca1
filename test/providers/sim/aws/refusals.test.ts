import assert from "node:assert/strict";
import type { ParamTree } from "../../../../providers/sim/aws/protocol/params.js";
import type { SettingsChange } from "../../../../providers/sim/aws/model/settings.js";
import { SimAccount } from "./account.js";

type Network = Awaited<ReturnType<SimAccount["network"]>>;
type Parameters = Readonly<Record<string, ParamTree>>;

/** A call, and the code that EC2 refuses it with. */
interface Case {
  readonly action: string;
  readonly asked: Parameters | ((net: Network) => Parameters);
  readonly code: string;
  readonly why: string;
  readonly settings?: SettingsChange;
}

const none = (kind: string) => `${kind}-0123456789abcdef0`;
const ssh = {
  IpProtocol: "tcp",
  FromPort: "22",
  ToPort: "22",
  IpRanges: [{ CidrIp: "0.0.0.0/0" }],
};

const missing: readonly Case[] = [
  ["DescribeVpcs", { VpcId: [none("vpc")] }, "InvalidVpcID.NotFound"],
  ["DescribeSubnets", { SubnetId: [none("subnet")] }, "InvalidSubnetID.NotFound"],
  [
    "DescribeInternetGateways",
    { InternetGatewayId: [none("igw")] },
    "InvalidInternetGatewayID.NotFound",
  ],
  ["DescribeAddresses", { AllocationId: [none("eipalloc")] }, "InvalidAllocationID.NotFound"],
  ["DescribeNatGateways", { NatGatewayId: [none("nat")] }, "NatGatewayNotFound"],
  ["DescribeRouteTables", { RouteTableId: [none("rtb")] }, "InvalidRouteTableID.NotFound"],
  ["DescribeSecurityGroups", { GroupId: [none("sg")] }, "InvalidGroup.NotFound"],
  [
    "DescribeSecurityGroupRules",
    { SecurityGroupRuleId: [none("sgr")] },
    "InvalidSecurityGroupRuleId.NotFound",
  ],
  [
    "DescribeNetworkInterfaces",
    { NetworkInterfaceId: [none("eni")] },
    "InvalidNetworkInterfaceID.NotFound",
  ],
  ["DescribeInstances", { InstanceId: [none("i")] }, "InvalidInstanceID.NotFound"],
  ["DescribeInstances", { InstanceId: ["i-1"] }, "InvalidInstanceID.Malformed"],
  ["DescribeVolumes", { VolumeId: [none("vol")] }, "InvalidVolume.NotFound"],
  ["DescribeKeyPairs", { KeyName: ["nobody"] }, "InvalidKeyPair.NotFound"],
  ["DeleteRouteTable", { RouteTableId: none("rtb") }, "InvalidRouteTableID.NotFound"],
  [
    "CreateTags",
    { ResourceId: [none("vpc")], Tag: [{ Key: "a", Value: "b" }] },
    "InvalidVpcID.NotFound",
  ],
  ["CreateTags", { ResourceId: ["thing"], Tag: [{ Key: "a", Value: "b" }] }, "InvalidID"],
  ["DisassociateRouteTable", { AssociationId: none("rtbassoc") }, "InvalidAssociationID.NotFound"],
  ["DisassociateAddress", { AssociationId: none("eipassoc") }, "InvalidAssociationID.NotFound"],
  ["DescribeInstanceTypes", { InstanceType: ["t9.huge"] }, "InvalidInstanceType"],
].map(([action, asked, code]) => ({ action, asked, code, why: "there is none" }) as Case);

const networks: readonly Case[] = [
  {
    action: "CreateVpc",
    asked: { CidrBlock: "10.0.0.0/8" },
    code: "InvalidVpc.Range",
    why: "it is too large",
  },
  {
    action: "CreateVpc",
    asked: { CidrBlock: "10.0.0" },
    code: "InvalidParameterValue",
    why: "it is no range",
  },
  { action: "CreateVpc", asked: {}, code: "MissingParameter", why: "it has no range" },
  {
    action: "CreateSubnet",
    asked: ({ vpcId }) => ({ VpcId: vpcId, CidrBlock: "10.1.0.0/24" }),
    code: "InvalidSubnet.Range",
    why: "its range is not the VPC's",
  },
  {
    action: "CreateSubnet",
    asked: ({ vpcId }) => ({ VpcId: vpcId, CidrBlock: "10.0.1.128/25" }),
    code: "InvalidSubnet.Conflict",
    why: "another has a part of its range",
  },
  {
    action: "CreateSubnet",
    asked: ({ vpcId }) => ({
      VpcId: vpcId,
      CidrBlock: "10.0.2.0/24",
      AvailabilityZone: "us-east-1a",
    }),
    code: "InvalidParameterValue",
    why: "the region has no such zone",
  },
  {
    action: "AttachInternetGateway",
    asked: ({ vpcId, gatewayId }) => ({ VpcId: vpcId, InternetGatewayId: gatewayId }),
    code: "Resource.AlreadyAssociated",
    why: "it is attached",
  },
  {
    action: "CreateNatGateway",
    asked: ({ subnetId }) => ({ SubnetId: subnetId }),
    code: "MissingParameter",
    why: "a public one needs an address",
  },
  {
    action: "DescribeVpcs",
    asked: { Filter: [{ Name: "colour", Value: ["x"] }] },
    code: "InvalidParameterValue",
    why: "there is no such filter",
  },
  {
    action: "DescribeVpcs",
    asked: { Filter: [{ Name: "vpc-id", Value: Array.from({ length: 201 }, String) }] },
    code: "FilterLimitExceeded",
    why: "a call has 200 values at most",
  },
  {
    action: "DescribeVpcs",
    asked: { MaxResults: "2" },
    code: "InvalidParameterValue",
    why: "a page has five at least",
  },
  {
    action: "DescribeVpcs",
    asked: { NextToken: "x" },
    code: "InvalidNextToken",
    why: "nobody gave it out",
  },
];

const groups: readonly Case[] = [
  {
    action: "CreateSecurityGroup",
    asked: ({ vpcId }) => ({ VpcId: vpcId, GroupName: "nodes", GroupDescription: "x" }),
    code: "InvalidGroup.Duplicate",
    why: "the VPC has one of that name",
  },
  {
    action: "CreateSecurityGroup",
    asked: ({ vpcId }) => ({ VpcId: vpcId, GroupName: "new", GroupDescription: "a | b" }),
    code: "InvalidParameterValue",
    why: "its description has other characters",
  },
  {
    action: "CreateSecurityGroup",
    asked: ({ vpcId }) => ({ VpcId: vpcId, GroupName: "new" }),
    code: "MissingParameter",
    why: "it has no description",
  },
  {
    action: "AuthorizeSecurityGroupEgress",
    asked: ({ groupId }) => ({
      GroupId: groupId,
      IpPermissions: [{ IpProtocol: "-1", IpRanges: [{ CidrIp: "0.0.0.0/0" }] }],
    }),
    code: "InvalidPermission.Duplicate",
    why: "a new group lets everything out",
  },
  {
    action: "AuthorizeSecurityGroupIngress",
    asked: ({ groupId }) => ({ GroupId: groupId, IpPermissions: [ssh, ssh] }),
    code: "InvalidParameterValue",
    why: "it is named twice",
  },
  {
    action: "AuthorizeSecurityGroupIngress",
    asked: ({ groupId }) => ({
      GroupId: groupId,
      IpPermissions: [{ ...ssh, FromPort: "30", ToPort: "20" }],
    }),
    code: "InvalidParameterValue",
    why: "its ports are no range",
  },
  {
    action: "AuthorizeSecurityGroupIngress",
    asked: ({ groupId }) => ({ GroupId: groupId }),
    code: "MissingParameter",
    why: "it names no rule",
  },
  {
    action: "RevokeSecurityGroupIngress",
    asked: ({ groupId }) => ({ GroupId: groupId, IpPermissions: [ssh] }),
    code: "InvalidPermission.NotFound",
    why: "the group has no such rule",
  },
];

const quotas: readonly Case[] = [
  {
    action: "CreateVpc",
    asked: { CidrBlock: "10.1.0.0/16" },
    code: "VpcLimitExceeded",
    settings: { quotas: { vpcs: 2 } },
  },
  {
    action: "CreateSubnet",
    asked: ({ vpcId }: Network) => ({ VpcId: vpcId, CidrBlock: "10.0.2.0/24" }),
    code: "SubnetLimitExceeded",
    settings: { quotas: { subnetsPerVpc: 1 } },
  },
  {
    action: "AllocateAddress",
    asked: {},
    code: "AddressLimitExceeded",
    settings: { quotas: { addresses: 0 } },
  },
  {
    action: "CreateInternetGateway",
    asked: {},
    code: "InternetGatewayLimitExceeded",
    settings: { quotas: { internetGateways: 2 } },
  },
  {
    action: "CreateNatGateway",
    asked: ({ subnetId }: Network) => ({ SubnetId: subnetId, ConnectivityType: "private" }),
    code: "NatGatewayLimitExceeded",
    settings: { quotas: { natGatewaysPerZone: 0 } },
  },
  {
    action: "CreateSecurityGroup",
    asked: ({ vpcId }: Network) => ({ VpcId: vpcId, GroupName: "x", GroupDescription: "x" }),
    code: "SecurityGroupLimitExceeded",
    settings: { quotas: { securityGroups: 3 } },
  },
  {
    action: "AuthorizeSecurityGroupIngress",
    asked: ({ groupId }: Network) => ({ GroupId: groupId, IpPermissions: [ssh] }),
    code: "RulesPerSecurityGroupLimitExceeded",
    settings: { quotas: { rulesPerGroup: 0 } },
  },
  {
    action: "CreateRouteTable",
    asked: ({ vpcId }: Network) => ({ VpcId: vpcId }),
    code: "RouteTableLimitExceeded",
    settings: { quotas: { routeTablesPerVpc: 1 } },
  },
  {
    action: "CreateNetworkInterface",
    asked: ({ subnetId, groupId }: Network) => ({ SubnetId: subnetId, SecurityGroupId: [groupId] }),
    code: "SecurityGroupsPerInterfaceLimitExceeded",
    settings: { quotas: { groupsPerInterface: 0 } },
  },
].map((one) => ({ ...one, why: "the quota is used up" }));

describe("what the simulated AWS refuses", () => {
  for (const { action, asked, code, why, settings } of [
    ...missing,
    ...networks,
    ...groups,
    ...quotas,
  ]) {
    it(`${action}: ${code}, since ${why}`, async () => {
      const account = new SimAccount(settings);
      const net = await account.network();
      const parameters = typeof asked === "function" ? asked(net) : asked;
      assert.equal(await account.code("ec2", action, parameters), code);
    });
  }

  it("a subnet that is full", async () => {
    const account = new SimAccount();
    const { vpcId } = await account.network();
    const asked = { VpcId: vpcId, CidrBlock: "10.0.2.0/28" };
    const SubnetId = await account.text("CreateSubnet", asked, "subnet.subnetId");
    const create = () => account.code("ec2", "CreateNetworkInterface", { SubnetId });
    for (let free = 16 - 5; free > 0; free -= 1) assert.equal(await create(), "");
    assert.equal(await create(), "InsufficientFreeAddressesInSubnet");
    const left = await account.text(
      "DescribeSubnets",
      { SubnetId: [SubnetId] },
      "subnetSet.0.availableIpAddressCount",
    );
    assert.equal(left, "0");
  });
});
