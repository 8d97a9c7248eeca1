import type { EC2, RunInstancesCommandInput } from "@aws-sdk/client-ec2";
import type { ElasticLoadBalancing } from "@aws-sdk/client-elastic-load-balancing";
import { at, type XmlTree } from "../xml-tree.js";

/** A cloud that answers as AWS does, whoever it is. */
export interface WireCloud {
  readonly ec2: EC2;
  readonly classicElb: ElasticLoadBalancing;
  /** A call of the Query protocol; the answer's tree, or the error's code. */
  query(service: string, action: string, form: Readonly<Record<string, string>>): Promise<XmlTree>;
  /** An image of its own that it boots. */
  readonly image: string;
  /** Lets time pass until nothing is under way. */
  settle(): Promise<void>;
}

/** A question, and the answers: one where both give the same, or each its own with the reason. */
export interface WireCase {
  readonly name: string;
  readonly ask: (cloud: WireCloud) => Promise<unknown>;
  readonly want: unknown;
  /** What moto answers instead, and why that is not what AWS does. */
  readonly moto?: { readonly want: unknown; readonly why: string };
}

/** The code that a call is refused with, or "done". */
export async function outcome(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => "done",
    (error: unknown) => (error as { name: string }).name,
  );
}

let ranges = 0;

/** A VPC with a subnet, a group, and an attached internet gateway, of a range of its own. */
async function network({ ec2 }: WireCloud) {
  ranges += 1;
  const { Vpc } = await ec2.createVpc({ CidrBlock: `10.${ranges}.0.0/16` });
  const VpcId = Vpc?.VpcId ?? "";
  const { Subnet } = await ec2.createSubnet({ VpcId, CidrBlock: `10.${ranges}.0.0/24` });
  const { GroupId = "" } = await ec2.createSecurityGroup({
    VpcId,
    GroupName: "nodes",
    Description: "d",
  });
  const { InternetGateway } = await ec2.createInternetGateway({});
  const InternetGatewayId = InternetGateway?.InternetGatewayId ?? "";
  await ec2.attachInternetGateway({ VpcId, InternetGatewayId });
  return { VpcId, SubnetId: Subnet?.SubnetId ?? "", GroupId, InternetGatewayId };
}

async function launch(cloud: WireCloud, more: Partial<RunInstancesCommandInput> = {}) {
  const net = await network(cloud);
  const asked: RunInstancesCommandInput = {
    ImageId: cloud.image,
    InstanceType: "t3.medium",
    MinCount: 1,
    MaxCount: 1,
    SubnetId: net.SubnetId,
    SecurityGroupIds: [net.GroupId],
    ...more,
  };
  const { Instances = [] } = await cloud.ec2.runInstances(asked);
  return {
    ...net,
    asked,
    InstanceId: Instances[0]?.InstanceId ?? "",
    state: Instances[0]?.State?.Name,
  };
}

async function nat(cloud: WireCloud, ClientToken?: string) {
  const net = await network(cloud);
  const { AllocationId = "" } = await cloud.ec2.allocateAddress({ Domain: "vpc" });
  const asked = { SubnetId: net.SubnetId, AllocationId, ...(ClientToken && { ClientToken }) };
  const { NatGateway } = await cloud.ec2.createNatGateway(asked);
  await cloud.settle();
  return { ...net, asked, AllocationId, NatGatewayId: NatGateway?.NatGatewayId ?? "" };
}

/** A group that a rule of another one names. */
async function reference(cloud: WireCloud) {
  const net = await network(cloud);
  const { GroupId = "" } = await cloud.ec2.createSecurityGroup({
    VpcId: net.VpcId,
    GroupName: "o",
    Description: "d",
  });
  const UserIdGroupPairs = [{ GroupId: net.GroupId }];
  await cloud.ec2.authorizeSecurityGroupIngress({
    GroupId,
    IpPermissions: [{ IpProtocol: "-1", UserIdGroupPairs }],
  });
  return net;
}

/** A classic load balancer with a tag, in a network of its own. */
async function classicBalancer(cloud: WireCloud) {
  const net = await network(cloud);
  const LoadBalancerName = `classic-${ranges}`;
  const asked = {
    LoadBalancerName,
    Listeners: [{ Protocol: "TCP", LoadBalancerPort: 80, InstancePort: 30_080 }],
    Subnets: [net.SubnetId],
    SecurityGroups: [net.GroupId],
    Tags: [{ Key: "a", Value: "b" }],
  };
  await cloud.classicElb.createLoadBalancer(asked);
  return { ...net, asked, LoadBalancerName };
}

const ssh = { IpProtocol: "tcp", FromPort: 22, ToPort: 22, IpRanges: [{ CidrIp: "0.0.0.0/0" }] };
const none = (prefix: string) => `${prefix}-0123456789abcdef0`;

const same: readonly WireCase[] = [
  {
    name: "a VPC, as it is described",
    ask: async (cloud) => {
      const { VpcId } = await network(cloud);
      await cloud.settle();
      const { Vpcs = [] } = await cloud.ec2.describeVpcs({ VpcIds: [VpcId] });
      const [{ State, InstanceTenancy, IsDefault, CidrBlockAssociationSet = [] } = {}] = Vpcs;
      return { State, InstanceTenancy, IsDefault, ranges: CidrBlockAssociationSet.length };
    },
    want: { State: "available", InstanceTenancy: "default", IsDefault: false, ranges: 1 },
  },
  {
    name: "a subnet, as it is described",
    ask: async (cloud) => {
      const { SubnetId } = await network(cloud);
      const { Subnets = [] } = await cloud.ec2.describeSubnets({ SubnetIds: [SubnetId] });
      const [{ State, AvailableIpAddressCount, MapPublicIpOnLaunch, DefaultForAz } = {}] = Subnets;
      return { State, AvailableIpAddressCount, MapPublicIpOnLaunch, DefaultForAz };
    },
    want: {
      State: "available",
      AvailableIpAddressCount: 251,
      MapPublicIpOnLaunch: false,
      DefaultForAz: false,
    },
  },
  {
    name: "a new VPC has a main route table with a local route, and a default group",
    ask: async (cloud) => {
      const { VpcId } = await network(cloud);
      const Filters = [{ Name: "vpc-id", Values: [VpcId] }];
      const { RouteTables = [] } = await cloud.ec2.describeRouteTables({ Filters });
      const { SecurityGroups = [] } = await cloud.ec2.describeSecurityGroups({ Filters });
      const [table] = RouteTables;
      return {
        main: table?.Associations?.map(({ Main }) => Main),
        routes: table?.Routes?.map(({ GatewayId, State }) => [GatewayId, State]),
        groups: SecurityGroups.map(({ GroupName }) => GroupName).sort(),
      };
    },
    want: { main: [true], routes: [["local", "active"]], groups: ["default", "nodes"] },
  },
  {
    name: "a group, its rules by permission and by id",
    ask: async ({ ec2, ...cloud }) => {
      const { GroupId } = await network({ ec2, ...cloud });
      const { SecurityGroupRules = [] } = await ec2.authorizeSecurityGroupIngress({
        GroupId,
        IpPermissions: [ssh],
      });
      const { SecurityGroups = [] } = await ec2.describeSecurityGroups({ GroupIds: [GroupId] });
      const [group] = SecurityGroups;
      return {
        made: SecurityGroupRules.map(({ IpProtocol, FromPort, CidrIpv4, IsEgress }) => [
          IpProtocol,
          FromPort,
          CidrIpv4,
          IsEgress,
        ]),
        ingress: group?.IpPermissions?.map(({ IpProtocol, FromPort, ToPort }) => [
          IpProtocol,
          FromPort,
          ToPort,
        ]),
        egress: group?.IpPermissionsEgress?.map(({ IpProtocol, FromPort }) => [
          IpProtocol,
          FromPort,
        ]),
      };
    },
    want: {
      made: [["tcp", 22, "0.0.0.0/0", false]],
      ingress: [["tcp", 22, 22]],
      egress: [["-1", undefined]],
    },
  },
  {
    name: "an instance, as it is described",
    ask: async (cloud) => {
      const { InstanceId, GroupId } = await launch(cloud, {
        MetadataOptions: { HttpTokens: "required" },
        TagSpecifications: [{ ResourceType: "instance", Tags: [{ Key: "a", Value: "b" }] }],
      });
      await cloud.settle();
      const { Reservations = [] } = await cloud.ec2.describeInstances({
        InstanceIds: [InstanceId],
      });
      const one = Reservations[0]?.Instances?.[0];
      return {
        state: one?.State,
        tags: one?.Tags,
        group: one?.SecurityGroups?.map((group) => group.GroupId === GroupId),
        tokens: one?.MetadataOptions?.HttpTokens,
        interfaces: one?.NetworkInterfaces?.length,
        root: one?.BlockDeviceMappings?.map(({ Ebs }) => [Ebs?.Status, Ebs?.DeleteOnTermination]),
      };
    },
    want: {
      state: { Code: 16, Name: "running" },
      tags: [{ Key: "a", Value: "b" }],
      group: [true],
      tokens: "required",
      interfaces: 1,
      root: [["attached", true]],
    },
  },
  ...(
    [
      ["describeVpcs", { VpcIds: [none("vpc")] }, "InvalidVpcID.NotFound"],
      ["describeSubnets", { SubnetIds: [none("subnet")] }, "InvalidSubnetID.NotFound"],
      ["describeSecurityGroups", { GroupIds: [none("sg")] }, "InvalidGroup.NotFound"],
      ["describeRouteTables", { RouteTableIds: [none("rtb")] }, "InvalidRouteTableID.NotFound"],
      [
        "describeInternetGateways",
        { InternetGatewayIds: [none("igw")] },
        "InvalidInternetGatewayID.NotFound",
      ],
      ["describeInstances", { InstanceIds: [none("i")] }, "InvalidInstanceID.NotFound"],
      ["describeVolumes", { VolumeIds: [none("vol")] }, "InvalidVolume.NotFound"],
      [
        "describeNetworkInterfaces",
        { NetworkInterfaceIds: [none("eni")] },
        "InvalidNetworkInterfaceID.NotFound",
      ],
      ["describeAddresses", { AllocationIds: [none("eipalloc")] }, "InvalidAllocationID.NotFound"],
      ["deleteRouteTable", { RouteTableId: none("rtb") }, "InvalidRouteTableID.NotFound"],
    ] as const
  ).map(([call, asked, want]) => ({
    name: `${call} of what is not there`,
    ask: ({ ec2 }: WireCloud) =>
      outcome((ec2[call] as (input: unknown) => Promise<unknown>)(asked)),
    want,
  })),
  {
    name: "a group of a name that is taken",
    ask: async (cloud) => {
      const { VpcId } = await network(cloud);
      return outcome(
        cloud.ec2.createSecurityGroup({ VpcId, GroupName: "nodes", Description: "d" }),
      );
    },
    want: "InvalidGroup.Duplicate",
  },
  {
    name: "a rule that is there",
    ask: async (cloud) => {
      const { GroupId } = await network(cloud);
      await cloud.ec2.authorizeSecurityGroupIngress({ GroupId, IpPermissions: [ssh] });
      return outcome(cloud.ec2.authorizeSecurityGroupIngress({ GroupId, IpPermissions: [ssh] }));
    },
    want: "InvalidPermission.Duplicate",
  },
  {
    name: "a rule that is not there, revoked",
    ask: async (cloud) => {
      const { GroupId } = await network(cloud);
      return outcome(cloud.ec2.revokeSecurityGroupIngress({ GroupId, IpPermissions: [ssh] }));
    },
    want: "InvalidPermission.NotFound",
  },
  {
    name: "a subnet of a range that is taken",
    ask: async (cloud) => {
      const { VpcId } = await network(cloud);
      return outcome(cloud.ec2.createSubnet({ VpcId, CidrBlock: `10.${ranges}.0.128/25` }));
    },
    want: "InvalidSubnet.Conflict",
  },
  {
    name: "an attached internet gateway, deleted",
    ask: async (cloud) => {
      const { InternetGatewayId } = await network(cloud);
      return outcome(cloud.ec2.deleteInternetGateway({ InternetGatewayId }));
    },
    want: "DependencyViolation",
  },
  {
    name: "a VPC that holds something, deleted",
    ask: async (cloud) => outcome(cloud.ec2.deleteVpc({ VpcId: (await network(cloud)).VpcId })),
    want: "DependencyViolation",
  },
  {
    name: "an associated route table, deleted",
    ask: async (cloud) => {
      const { VpcId, SubnetId } = await network(cloud);
      const { RouteTable } = await cloud.ec2.createRouteTable({ VpcId });
      const RouteTableId = RouteTable?.RouteTableId ?? "";
      await cloud.ec2.associateRouteTable({ RouteTableId, SubnetId });
      return outcome(cloud.ec2.deleteRouteTable({ RouteTableId }));
    },
    want: "DependencyViolation",
  },
  {
    name: "a route that is there",
    ask: async (cloud) => {
      const { VpcId, InternetGatewayId: GatewayId } = await network(cloud);
      const { RouteTable } = await cloud.ec2.createRouteTable({ VpcId });
      const route = {
        RouteTableId: RouteTable?.RouteTableId,
        DestinationCidrBlock: "0.0.0.0/0",
        GatewayId,
      };
      await cloud.ec2.createRoute(route);
      return outcome(cloud.ec2.createRoute(route));
    },
    want: "RouteAlreadyExists",
  },
  {
    name: "an attached volume, deleted",
    ask: async (cloud) => {
      const { InstanceId } = await launch(cloud);
      await cloud.settle();
      const Filters = [{ Name: "attachment.instance-id", Values: [InstanceId] }];
      const { Volumes = [] } = await cloud.ec2.describeVolumes({ Filters });
      return outcome(cloud.ec2.deleteVolume({ VolumeId: Volumes[0]?.VolumeId }));
    },
    want: "VolumeInUse",
  },
];

const sameOfClassic: readonly WireCase[] = [
  {
    name: "a classic load balancer, as it is described",
    ask: async (cloud) => {
      const { LoadBalancerName, ...net } = await classicBalancer(cloud);
      const LoadBalancerNames = [LoadBalancerName];
      const { LoadBalancerDescriptions = [] } = await cloud.classicElb.describeLoadBalancers({
        LoadBalancerNames,
      });
      const [{ VPCId, Subnets, SecurityGroups, ListenerDescriptions, Scheme } = {}] =
        LoadBalancerDescriptions;
      const { TagDescriptions = [] } = await cloud.classicElb.describeTags({ LoadBalancerNames });
      return {
        isInPlace: [VPCId, Subnets?.join(), SecurityGroups?.join()].map((one) =>
          [net.VpcId, net.SubnetId, net.GroupId].includes(one ?? ""),
        ),
        listeners: ListenerDescriptions?.map(({ Listener }) => [
          Listener?.Protocol,
          Listener?.LoadBalancerPort,
          Listener?.InstancePort,
        ]),
        scheme: Scheme,
        tags: TagDescriptions.map(({ Tags }) => Tags),
      };
    },
    want: {
      isInPlace: [true, true, true],
      listeners: [["TCP", 80, 30_080]],
      scheme: "internet-facing",
      tags: [[{ Key: "a", Value: "b" }]],
    },
  },
  ...(["describeLoadBalancers", "describeTags"] as const).map((call) => ({
    name: `${call} of a classic load balancer that is not there`,
    ask: ({ classicElb }: WireCloud) =>
      outcome(classicElb[call]({ LoadBalancerNames: ["classic-none"] })),
    want: "AccessPointNotFoundException",
  })),
  {
    name: "a classic load balancer, asked for in the newer API",
    ask: async (cloud) => {
      const { LoadBalancerName } = await classicBalancer(cloud);
      return cloud.query("elasticloadbalancing", "DescribeLoadBalancers", {
        "Names.member.1": LoadBalancerName,
      });
    },
    want: "LoadBalancerNotFound",
  },
  {
    name: "a classic load balancer, deleted twice",
    ask: async (cloud) => {
      const { LoadBalancerName } = await classicBalancer(cloud);
      const remove = () => outcome(cloud.classicElb.deleteLoadBalancer({ LoadBalancerName }));
      return [await remove(), await remove()];
    },
    want: ["done", "done"],
  },
  {
    name: "a classic load balancer of the same name with other settings",
    ask: async (cloud) => {
      const { asked } = await classicBalancer(cloud);
      return outcome(cloud.classicElb.createLoadBalancer({ ...asked, Scheme: "internal" }));
    },
    want: "DuplicateAccessPointNameException",
  },
];

const others: readonly WireCase[] = [
  {
    name: "the same launch twice under one token",
    ask: async (cloud) => {
      const first = await launch(cloud, { ClientToken: `t-${Math.floor(ranges)}-a` });
      const { Instances = [] } = await cloud.ec2.runInstances(first.asked);
      return Instances[0]?.InstanceId === first.InstanceId ? "one" : "two";
    },
    want: "one",
    moto: { want: "two", why: "tokens are not looked at" },
  },
  {
    name: "another launch under a used token",
    ask: async (cloud) => {
      const { asked } = await launch(cloud, { ClientToken: `t-${ranges}-b` });
      return outcome(cloud.ec2.runInstances({ ...asked, InstanceType: "t3.large" }));
    },
    want: "IdempotentParameterMismatch",
    moto: { want: "done", why: "tokens are not looked at" },
  },
  {
    name: "an instance, looked for by its token",
    ask: async (cloud) => {
      const token = `t-${ranges}-c`;
      await launch(cloud, { ClientToken: token });
      const asked = cloud.ec2.describeInstances({
        Filters: [{ Name: "client-token", Values: [token] }],
      });
      return asked.then(
        ({ Reservations = [] }) => Reservations.length,
        () => "no answer",
      );
    },
    want: 1,
    moto: { want: "no answer", why: "the filter is not there, and the server fails" },
  },
  {
    name: "the same NAT gateway twice under one token",
    ask: async (cloud) => {
      const { asked, NatGatewayId } = await nat(cloud, `t-${ranges}-d`);
      const again = cloud.ec2.createNatGateway(asked);
      return again.then(
        ({ NatGateway }) => (NatGateway?.NatGatewayId === NatGatewayId ? "one" : "two"),
        (error: unknown) => (error as Error).name,
      );
    },
    want: "one",
    moto: { want: "Resource.AlreadyAssociated", why: "tokens are not looked at" },
  },
  {
    name: "an instance that was just launched",
    ask: async (cloud) => {
      const { InstanceId, state } = await launch(cloud);
      const { Reservations = [] } = await cloud.ec2.describeInstances({
        InstanceIds: [InstanceId],
      });
      return [state, Reservations[0]?.Instances?.[0]?.State?.Name];
    },
    want: ["pending", "pending"],
    moto: { want: ["pending", "running"], why: "nothing takes time" },
  },
  {
    name: "an instance that was just terminated",
    ask: async (cloud) => {
      const { InstanceId } = await launch(cloud);
      await cloud.settle();
      await cloud.ec2.terminateInstances({ InstanceIds: [InstanceId] });
      const { Reservations = [] } = await cloud.ec2.describeInstances({
        InstanceIds: [InstanceId],
      });
      return Reservations[0]?.Instances?.[0]?.State?.Name;
    },
    want: "shutting-down",
    moto: { want: "terminated", why: "nothing takes time" },
  },
  {
    name: "a group that a rule names, deleted",
    ask: async (cloud) =>
      outcome(cloud.ec2.deleteSecurityGroup({ GroupId: (await reference(cloud)).GroupId })),
    want: "DependencyViolation",
    moto: { want: "done", why: "rules are not looked at" },
  },
  {
    name: "a group that an instance uses, deleted",
    ask: async (cloud) =>
      outcome(cloud.ec2.deleteSecurityGroup({ GroupId: (await launch(cloud)).GroupId })),
    want: "DependencyViolation",
    moto: { want: "done", why: "interfaces are not looked at" },
  },
  {
    name: "a subnet with an instance, deleted",
    ask: async (cloud) =>
      outcome(cloud.ec2.deleteSubnet({ SubnetId: (await launch(cloud)).SubnetId })),
    want: "DependencyViolation",
    moto: { want: "done", why: "interfaces are not looked at" },
  },
  {
    name: "a subnet with a NAT gateway, deleted",
    ask: async (cloud) =>
      outcome(cloud.ec2.deleteSubnet({ SubnetId: (await nat(cloud)).SubnetId })),
    want: "DependencyViolation",
    moto: { want: "done", why: "interfaces are not looked at" },
  },
  {
    name: "an internet gateway of a VPC with public addresses, detached",
    ask: async (cloud) => {
      const { VpcId, InternetGatewayId } = await nat(cloud);
      return outcome(cloud.ec2.detachInternetGateway({ VpcId, InternetGatewayId }));
    },
    want: "DependencyViolation",
    moto: { want: "done", why: "addresses are not looked at" },
  },
  {
    name: "an address of a NAT gateway, released",
    ask: async (cloud) =>
      outcome(cloud.ec2.releaseAddress({ AllocationId: (await nat(cloud)).AllocationId })),
    want: "AuthFailure",
    moto: { want: "done", why: "it is not looked at whether it is mapped" },
  },
  {
    name: "a dry run",
    ask: async ({ ec2 }) => outcome(ec2.createVpc({ CidrBlock: "10.250.0.0/16", DryRun: true })),
    want: "DryRunOperation",
    moto: { want: "done", why: "it makes the VPC" },
  },
  {
    name: "a network load balancer's ARN",
    ask: async (cloud) => {
      const { SubnetId } = await network(cloud);
      const form = { Name: `lb-${ranges}`, Type: "network", "Subnets.member.1": SubnetId };
      const made = await cloud.query("elasticloadbalancing", "CreateLoadBalancer", form);
      const arn = String(
        at(
          made,
          "CreateLoadBalancerResponse.CreateLoadBalancerResult.LoadBalancers.0.LoadBalancerArn",
        ),
      );
      return /:loadbalancer\/([a-z]+)\//.exec(arn)?.[1];
    },
    want: "net",
    moto: { want: "app", why: "all of them have the form of application load balancers" },
  },
  {
    name: "a load balancer of the same name with other settings",
    ask: async (cloud) => {
      const { SubnetId } = await network(cloud);
      const form = { Name: `lb-${ranges}`, Type: "network", "Subnets.member.1": SubnetId };
      await cloud.query("elasticloadbalancing", "CreateLoadBalancer", form);
      const again = await cloud.query("elasticloadbalancing", "CreateLoadBalancer", {
        ...form,
        Scheme: "internal",
      });
      return typeof again === "string" ? again : "done";
    },
    want: "DuplicateLoadBalancerName",
    moto: { want: "done", why: "it does not compare them" },
  },
  {
    name: "the same classic load balancer twice",
    ask: async (cloud) => {
      const { asked } = await classicBalancer(cloud);
      return outcome(cloud.classicElb.createLoadBalancer(asked));
    },
    want: "done",
    moto: { want: "DuplicateAccessPointNameException", why: "it does not compare them" },
  },
  {
    name: "a group that a classic load balancer uses, deleted",
    ask: async (cloud) =>
      outcome(cloud.ec2.deleteSecurityGroup({ GroupId: (await classicBalancer(cloud)).GroupId })),
    want: "DependencyViolation",
    moto: { want: "done", why: "it has no interfaces" },
  },
  {
    name: "a subnet with a classic load balancer, deleted",
    ask: async (cloud) =>
      outcome(cloud.ec2.deleteSubnet({ SubnetId: (await classicBalancer(cloud)).SubnetId })),
    want: "DependencyViolation",
    moto: { want: "done", why: "it has no interfaces" },
  },
];

export const wireCases: readonly WireCase[] = [...same, ...sameOfClassic, ...others];
