import type { ParamTree } from "../../../../providers/sim/aws/protocol/params.js";
import { actOnInstance } from "../../../../providers/sim/aws/instance-acts.js";
import { at } from "../xml-tree.js";
import type { SimAccount } from "./account.js";

type Parameters = Readonly<Record<string, ParamTree>>;

const tag = (ResourceType: string) => ({
  TagSpecification: [{ ResourceType, Tag: [{ Key: "a", Value: "b" }] }],
});

/** Calls every action that the simulator has, with as much in the answers as there can be. */
export async function callEveryAction(account: SimAccount): Promise<void> {
  const net = await account.network();
  await callNetworks(account, net);
  const instanceId = await callInstances(account, net);
  await callBalancers(account, net, instanceId);
  await callClassicBalancers(account, net);
  await callSecrets(account);
  await callEnds(account, net, instanceId);
}

type Network = Awaited<ReturnType<SimAccount["network"]>>;

async function callNetworks(
  account: SimAccount,
  { vpcId, subnetId, groupId, gatewayId }: Network,
): Promise<void> {
  const { ec2, text } = bound(account);
  await ec2("DescribeVpcAttribute", { VpcId: vpcId, Attribute: "enableDnsSupport" });
  await ec2("ModifyVpcAttribute", { VpcId: vpcId, EnableDnsHostnames: { Value: "true" } });
  await ec2("ModifySubnetAttribute", {
    SubnetId: subnetId,
    MapPublicIpOnLaunch: { Value: "true" },
  });
  const peers = {
    IpRanges: [{ CidrIp: "10.0.0.0/8", Description: "d" }],
    Ipv6Ranges: [{ CidrIpv6: "::/0" }],
    Groups: [{ GroupId: groupId }],
  };
  const IpPermissions = [{ IpProtocol: "tcp", FromPort: "1", ToPort: "2", ...peers }];
  const rules = { GroupId: groupId, IpPermissions };
  await ec2("AuthorizeSecurityGroupIngress", { ...rules, ...tag("security-group-rule") });
  await ec2("AuthorizeSecurityGroupEgress", rules);
  await ec2("UpdateSecurityGroupRuleDescriptionsIngress", rules);
  await ec2("UpdateSecurityGroupRuleDescriptionsEgress", rules);
  const ruleId = await text(
    "DescribeSecurityGroupRules",
    { Filter: [{ Name: "group-id", Value: [groupId] }] },
    "securityGroupRuleSet.1.securityGroupRuleId",
  );
  const SecurityGroupRule = {
    IpProtocol: "tcp",
    FromPort: "7",
    ToPort: "7",
    CidrIpv4: "10.0.0.0/8",
  };
  await ec2("ModifySecurityGroupRules", {
    GroupId: groupId,
    SecurityGroupRule: [{ SecurityGroupRuleId: ruleId, SecurityGroupRule }],
  });
  await ec2("RevokeSecurityGroupEgress", rules);
  const table = await text(
    "CreateRouteTable",
    { VpcId: vpcId, ClientToken: "t", ...tag("route-table") },
    "routeTable.routeTableId",
  );
  const other = await text("CreateRouteTable", { VpcId: vpcId }, "routeTable.routeTableId");
  const route = { RouteTableId: table, DestinationCidrBlock: "0.0.0.0/0" };
  await ec2("CreateRoute", { ...route, GatewayId: gatewayId });
  const AllocationId = await text("AllocateAddress", tag("elastic-ip"), "allocationId");
  const nat = { SubnetId: subnetId, AllocationId, ClientToken: "t", ...tag("natgateway") };
  const NatGatewayId = await text("CreateNatGateway", nat, "natGateway.natGatewayId");
  await ec2("ReplaceRoute", { ...route, NatGatewayId });
  const AssociationId = await text(
    "AssociateRouteTable",
    { RouteTableId: table, SubnetId: subnetId },
    "associationId",
  );
  const moved = await text(
    "ReplaceRouteTableAssociation",
    { AssociationId, RouteTableId: other },
    "newAssociationId",
  );
  await ec2("DescribeRouteTables");
  await ec2("DisassociateRouteTable", { AssociationId: moved });
  await ec2("DeleteRoute", route);
  await ec2("DeleteRouteTable", { RouteTableId: other });
  const eni = await text(
    "CreateNetworkInterface",
    { SubnetId: subnetId, ClientToken: "t", ...tag("network-interface") },
    "networkInterface.networkInterfaceId",
  );
  await ec2("ModifyNetworkInterfaceAttribute", {
    NetworkInterfaceId: eni,
    SourceDestCheck: { Value: "false" },
  });
  const second = await text("AllocateAddress", {}, "allocationId");
  const mapped = await text(
    "AssociateAddress",
    { AllocationId: second, NetworkInterfaceId: eni },
    "associationId",
  );
  account.advance(60_000);
  await ec2("DescribeNetworkInterfaces");
  await ec2("DescribeAddresses");
  await ec2("DescribeNatGateways");
  await ec2("DisassociateAddress", { AssociationId: mapped });
  await ec2("ReleaseAddress", { AllocationId: second });
  await ec2("DeleteNetworkInterface", { NetworkInterfaceId: eni });
  await ec2("DeleteNatGateway", { NatGatewayId });
  await ec2("DescribeNatGateways");
  const looks = [
    "DescribeVpcs",
    "DescribeSubnets",
    "DescribeInternetGateways",
    "DescribeSecurityGroups",
  ];
  const more = [
    "DescribeAvailabilityZones",
    "DescribeRegions",
    "DescribeAccountAttributes",
    "DescribeInstanceTypes",
  ];
  for (const action of [...looks, ...more, "DescribeInstanceTypeOfferings"]) await ec2(action);
}

async function callInstances(account: SimAccount, { subnetId, groupId }: Network): Promise<string> {
  const { ec2, text } = bound(account);
  const PublicKeyMaterial = Buffer.from("ssh-ed25519 AAAA").toString("base64");
  await ec2("ImportKeyPair", { KeyName: "me", PublicKeyMaterial, ...tag("key-pair") });
  await ec2("DescribeKeyPairs");
  const spot = { InstanceMarketOptions: { MarketType: "spot", SpotOptions: { MaxPrice: "0.1" } } };
  await account.instance(subnetId, groupId, spot);
  await ec2("DescribeSpotInstanceRequests");
  const id = await account.instance(subnetId, groupId, {
    KeyName: "me",
    ClientToken: "t",
    IamInstanceProfile: { Name: "nodes" },
    UserData: "eA==",
    Monitoring: { Enabled: "true" },
    CreditSpecification: { CpuCredits: "standard" },
    Placement: { AvailabilityZone: "eu-north-1a", GroupName: "g", Tenancy: "default" },
    BlockDeviceMapping: [
      { DeviceName: "/dev/sdf", Ebs: { VolumeSize: "9", VolumeType: "io2", Iops: "100" } },
    ],
    ...tag("instance"),
  });
  actOnInstance(account.aws, { id, console: "hello" });
  await ec2("GetConsoleOutput", { InstanceId: id });
  await ec2("DescribeInstances");
  await ec2("DescribeInstanceStatus", { IncludeAllInstances: "true" });
  await ec2("DescribeImages");
  for (const Attribute of [
    "userData",
    "instanceType",
    "groupSet",
    "blockDeviceMapping",
    "disableApiStop",
  ]) {
    await ec2("DescribeInstanceAttribute", { InstanceId: id, Attribute });
  }
  await ec2("ModifyInstanceAttribute", { InstanceId: id, SourceDestCheck: { Value: "false" } });
  await ec2("ModifyInstanceMetadataOptions", { InstanceId: id, HttpTokens: "required" });
  const volume = { AvailabilityZone: "eu-north-1a", Size: "8", ClientToken: "t", ...tag("volume") };
  const VolumeId = await text("CreateVolume", volume, "volumeId");
  account.advance(3_000);
  await ec2("AttachVolume", { VolumeId, InstanceId: id, Device: "/dev/sdg" });
  account.advance(3_000);
  await ec2("ModifyVolume", { VolumeId, Size: "10" });
  await ec2("DescribeVolumesModifications");
  await ec2("DescribeVolumes");
  await ec2("DetachVolume", { VolumeId });
  account.advance(3_000);
  await ec2("DeleteVolume", { VolumeId });
  await ec2("RebootInstances", { InstanceId: [id] });
  await ec2("StopInstances", { InstanceId: [id] });
  account.advance(60_000);
  await ec2("StartInstances", { InstanceId: [id] });
  account.advance(60_000);
  await ec2("CreateTags", { ResourceId: [id], Tag: [{ Key: "c", Value: "d" }] });
  await ec2("DescribeTags");
  await ec2("DeleteTags", { ResourceId: [id], Tag: [{ Key: "c" }] });
  return id;
}

async function callBalancers(
  account: SimAccount,
  { vpcId, subnetId, groupId }: Network,
  Id: string,
): Promise<void> {
  const elb = (action: string, asked: Parameters = {}) => account.elb(action, asked);
  const Tags = [{ Key: "a", Value: "b" }];
  const AllocationId = await account.text("AllocateAddress", {}, "allocationId");
  const SubnetMappings = [{ SubnetId: subnetId, AllocationId }];
  const balancer = {
    Name: "api",
    Type: "network",
    SubnetMappings,
    SecurityGroups: [groupId],
    Tags,
  };
  const made = await elb("CreateLoadBalancer", balancer);
  const LoadBalancerArn = String(at(made, "LoadBalancers.0.LoadBalancerArn"));
  const health = {
    HealthCheckProtocol: "HTTPS",
    HealthCheckPath: "/readyz",
    Matcher: { HttpCode: "200" },
  };
  const group = { Name: "api", Protocol: "TCP", Port: "6443", VpcId: vpcId, Tags, ...health };
  const grouped = await elb("CreateTargetGroup", group);
  const TargetGroupArn = String(at(grouped, "TargetGroups.0.TargetGroupArn"));
  await elb("ModifyTargetGroup", { TargetGroupArn, HealthCheckIntervalSeconds: "10" });
  const attribute = (Key: string, Value: string) => ({ Attributes: [{ Key, Value }] });
  await elb("ModifyTargetGroupAttributes", {
    TargetGroupArn,
    ...attribute("stickiness.enabled", "true"),
  });
  await elb("DescribeTargetGroupAttributes", { TargetGroupArn });
  const crossZone = attribute("load_balancing.cross_zone.enabled", "true");
  await elb("ModifyLoadBalancerAttributes", { LoadBalancerArn, ...crossZone });
  await elb("DescribeLoadBalancerAttributes", { LoadBalancerArn });
  await elb("SetSecurityGroups", { LoadBalancerArn, SecurityGroups: [groupId] });
  await elb("SetSubnets", { LoadBalancerArn, Subnets: [subnetId] });
  const DefaultActions = [{ Type: "forward", TargetGroupArn }];
  const listened = await elb("CreateListener", {
    LoadBalancerArn,
    Protocol: "TCP",
    Port: "6443",
    DefaultActions,
  });
  const ListenerArn = String(at(listened, "Listeners.0.ListenerArn"));
  await elb("ModifyListener", { ListenerArn, Port: "443" });
  const Targets = [{ Id }];
  await elb("RegisterTargets", { TargetGroupArn, Targets });
  await elb("DescribeTargetHealth", { TargetGroupArn });
  account.advance(120_000);
  await elb("DescribeTargetHealth", { TargetGroupArn });
  await elb("AddTags", { ResourceArns: [LoadBalancerArn, ListenerArn], Tags });
  await elb("RemoveTags", { ResourceArns: [LoadBalancerArn], TagKeys: ["x"] });
  await elb("DescribeTags", { ResourceArns: [LoadBalancerArn, TargetGroupArn, ListenerArn] });
  await elb("DescribeLoadBalancers");
  await elb("DescribeTargetGroups");
  await elb("DescribeListeners", { LoadBalancerArn });
  await elb("DeregisterTargets", { TargetGroupArn, Targets });
  await elb("DescribeTargetHealth", { TargetGroupArn });
  await elb("DeleteListener", { ListenerArn });
  await elb("DeleteTargetGroup", { TargetGroupArn });
  await elb("DeleteLoadBalancer", { LoadBalancerArn });
}

async function callClassicBalancers(
  account: SimAccount,
  { subnetId, groupId }: Network,
): Promise<void> {
  const elb = (action: string, asked: Parameters = {}) => account.classicElb(action, asked);
  const named = { LoadBalancerNames: ["web"] };
  const Tags = [{ Key: "a", Value: "b" }];
  await elb("CreateLoadBalancer", {
    LoadBalancerName: "web",
    Listeners: [{ Protocol: "tcp", LoadBalancerPort: "80", InstancePort: "30080" }],
    Subnets: [subnetId],
    SecurityGroups: [groupId],
    Tags,
  });
  await elb("AddTags", { ...named, Tags: [{ Key: "c", Value: "d" }] });
  await elb("RemoveTags", { ...named, Tags: [{ Key: "a" }] });
  await elb("DescribeTags", named);
  await elb("DescribeLoadBalancers");
  await elb("DeleteLoadBalancer", { LoadBalancerName: "web" });
}

async function callSecrets(account: SimAccount): Promise<void> {
  const ssm = (action: string, asked: Parameters) => account.call("ssm", action, asked);
  const Tags = [{ Key: "a", Value: "b" }];
  await ssm("PutParameter", {
    Name: "/a",
    Value: "x",
    Type: "SecureString",
    Description: "d",
    Tags,
  });
  await ssm("GetParameter", { Name: "/a", WithDecryption: "true" });
  await ssm("GetParameters", { Names: ["/a", "/b"] });
  await ssm("GetParametersByPath", { Path: "/" });
  await ssm("DescribeParameters", {});
  await ssm("AddTagsToResource", { ResourceType: "Parameter", ResourceId: "/a", Tags });
  await ssm("ListTagsForResource", { ResourceType: "Parameter", ResourceId: "/a" });
  await ssm("DeleteParameter", { Name: "/a" });
  const secrets = (action: string, asked: Parameters) =>
    account.call("secretsmanager", action, asked);
  await secrets("CreateSecret", { Name: "s", SecretString: "x", Tags });
  await secrets("PutSecretValue", { SecretId: "s", SecretBinary: "eA==" });
  await secrets("GetSecretValue", { SecretId: "s" });
  await secrets("DescribeSecret", { SecretId: "s" });
  await secrets("DeleteSecret", { SecretId: "s" });
  await secrets("ListSecrets", { IncludePlannedDeletion: "true" });
  await secrets("RestoreSecret", { SecretId: "s" });
  await account.call("servicequotas", "ListServiceQuotas", { ServiceCode: "ec2" });
  await account.call("servicequotas", "GetServiceQuota", {
    ServiceCode: "ec2",
    QuotaCode: "L-1216C47A",
  });
  const role = { RoleArn: "arn:aws:iam::123456789012:role/r", RoleSessionName: "s" };
  await account.call("sts", "GetCallerIdentity");
  await account.call("sts", "AssumeRole", role);
  await account.call("sts", "AssumeRoleWithWebIdentity", { ...role, WebIdentityToken: "x" });
}

async function callEnds(account: SimAccount, net: Network, instanceId: string): Promise<void> {
  const { ec2 } = bound(account);
  await ec2("TerminateInstances", { InstanceId: account.ids("instances") });
  account.advance(3_000_000);
  await ec2("DescribeInstances", { InstanceId: [instanceId] });
  await ec2("DeleteKeyPair", { KeyName: "me" });
  const { vpcId, subnetId, groupId, gatewayId } = net;
  for (const AllocationId of account.ids("addresses"))
    await ec2("ReleaseAddress", { AllocationId });
  await ec2("RevokeSecurityGroupIngress", {
    GroupId: groupId,
    SecurityGroupRuleId: [await ruleOf(account, groupId)],
  });
  await ec2("DeleteSecurityGroup", { GroupId: groupId });
  await ec2("DetachInternetGateway", { VpcId: vpcId, InternetGatewayId: gatewayId });
  await ec2("DeleteInternetGateway", { InternetGatewayId: gatewayId });
  await ec2("DeleteSubnet", { SubnetId: subnetId });
  const [table = ""] = account.ids("routeTables").slice(-1);
  await ec2("DeleteRouteTable", { RouteTableId: table });
  await ec2("DeleteVpc", { VpcId: vpcId });
}

async function ruleOf(account: SimAccount, groupId: string): Promise<string> {
  const Filter = [{ Name: "group-id", Value: [groupId] }];
  const rules = await account.ec2("DescribeSecurityGroupRules", { Filter });
  const list = at(rules, "securityGroupRuleSet");
  const ingress = Array.isArray(list)
    ? list.find((rule) => at(rule, "isEgress") === "false")
    : undefined;
  return ingress === undefined ? "" : String(at(ingress, "securityGroupRuleId"));
}

function bound(account: SimAccount) {
  return { ec2: account.ec2.bind(account), text: account.text.bind(account) };
}
