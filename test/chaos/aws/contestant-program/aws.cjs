// What each kind takes of the AWS SDK: how it is made, found and taken away. Whatever AWS refuses for a while is tried again.

const { setTimeout: sleep } = require("node:timers/promises");
const { EC2 } = require("@aws-sdk/client-ec2");
const { ElasticLoadBalancingV2 } = require("@aws-sdk/client-elastic-load-balancing-v2");

const ec2 = new EC2({});
const elb = new ElasticLoadBalancingV2({});

const passing =
  /^(DependencyViolation|IncorrectState|IncorrectInstanceState|InvalidTarget|VolumeInUse|ResourceInUse|InvalidIPAddress|AuthFailure|Gateway|.*NotFound)/;
const isGone = ({ name }) => /NotFound/.test(name);

async function patiently(call, isOver = () => false) {
  for (let left = 150; ; left -= 1) {
    try {
      return await call();
    } catch (error) {
      if (isOver(error)) return undefined;
      if (left === 0 || !passing.test(error.name)) throw error;
      await sleep(200);
    }
  }
}

const tags = (kind, { cluster, name }) =>
  Object.entries({
    Name: name,
    "capstan:cluster": cluster,
    "capstan:kind": kind,
    "capstan:name": name,
    "capstan:token": `${kind} ${name}`,
  }).map(([Key, Value]) => ({ Key, Value }));
const specified = (ResourceType, inputs) => ({
  TagSpecifications: [{ ResourceType, Tags: tags(ResourceType, inputs) }],
});

/** Of one kind: `make` answers the id, `see` throws for what is not there, `end` takes it away. */
exports.kinds = {
  vpc: {
    make: async (i) => {
      const { Vpc } = await ec2.createVpc({ CidrBlock: "10.0.0.0/16", ...specified("vpc", i) });
      return Vpc.VpcId;
    },
    see: (id) => ec2.describeVpcs({ VpcIds: [id] }),
    end: (id) => ec2.deleteVpc({ VpcId: id }),
  },
  subnet: {
    make: async (i) => {
      const { vpcId: VpcId, cidr: CidrBlock } = i;
      const wanted = {
        VpcId,
        CidrBlock,
        AvailabilityZone: "eu-north-1a",
        ...specified("subnet", i),
      };
      return (await ec2.createSubnet(wanted)).Subnet.SubnetId;
    },
    see: (id) => ec2.describeSubnets({ SubnetIds: [id] }),
    end: (id) => ec2.deleteSubnet({ SubnetId: id }),
  },
  internetGateway: {
    make: async (i) => {
      const made = await ec2.createInternetGateway(specified("internet-gateway", i));
      const { InternetGatewayId } = made.InternetGateway;
      await patiently(() => ec2.attachInternetGateway({ InternetGatewayId, VpcId: i.vpcId }));
      return InternetGatewayId;
    },
    see: (id) => ec2.describeInternetGateways({ InternetGatewayIds: [id] }),
    end: async (id, { vpcId: VpcId }) => {
      const InternetGatewayId = id;
      const detach = () => ec2.detachInternetGateway({ InternetGatewayId, VpcId });
      await patiently(detach, ({ name }) => /NotAttached|NotFound/.test(name));
      await ec2.deleteInternetGateway({ InternetGatewayId });
    },
  },
  address: {
    make: async (i) => (await ec2.allocateAddress(specified("elastic-ip", i))).AllocationId,
    see: (id) => ec2.describeAddresses({ AllocationIds: [id] }),
    end: (id) => ec2.releaseAddress({ AllocationId: id }),
  },
  natGateway: {
    make: async (i) => {
      const { subnetId: SubnetId, allocationId: AllocationId } = i;
      const made = await ec2.createNatGateway({
        SubnetId,
        AllocationId,
        ...specified("natgateway", i),
      });
      return made.NatGateway.NatGatewayId;
    },
    see: async (id) => {
      const { NatGateways } = await ec2.describeNatGateways({ NatGatewayIds: [id] });
      return NatGateways.filter(({ State }) => State === "available" || State === "pending");
    },
    end: (id) => ec2.deleteNatGateway({ NatGatewayId: id }),
  },
  routeTable: {
    make: async (i) => {
      const {
        vpcId: VpcId,
        subnetId: SubnetId,
        gatewayId: GatewayId,
        natGatewayId: NatGatewayId,
      } = i;
      const made = await ec2.createRouteTable({ VpcId, ...specified("route-table", i) });
      const { RouteTableId } = made.RouteTable;
      const route = { RouteTableId, DestinationCidrBlock: "0.0.0.0/0", GatewayId, NatGatewayId };
      await patiently(() => ec2.createRoute(route));
      await patiently(() => ec2.associateRouteTable({ RouteTableId, SubnetId }));
      return RouteTableId;
    },
    see: (id) => ec2.describeRouteTables({ RouteTableIds: [id] }),
    end: async (id) => {
      const { RouteTables } = await ec2.describeRouteTables({ RouteTableIds: [id] });
      for (const { RouteTableAssociationId: AssociationId } of RouteTables[0].Associations ?? [])
        await patiently(() => ec2.disassociateRouteTable({ AssociationId }), isGone);
      await ec2.deleteRouteTable({ RouteTableId: id });
    },
  },
  group: {
    make: async (i) => {
      const { vpcId: VpcId, name: GroupName } = i;
      const wanted = {
        VpcId,
        GroupName,
        Description: GroupName,
        ...specified("security-group", i),
      };
      return (await ec2.createSecurityGroup(wanted)).GroupId;
    },
    see: (id) => ec2.describeSecurityGroups({ GroupIds: [id] }),
    end: (id) => ec2.deleteSecurityGroup({ GroupId: id }),
  },
  rule: {
    make: async (i) => {
      const { groupId: GroupId, cidr: CidrIp } = i;
      const ports = { IpProtocol: "tcp", FromPort: 6443, ToPort: 6443 };
      const IpPermissions = [{ ...ports, IpRanges: [{ CidrIp }] }];
      const wanted = { GroupId, IpPermissions, ...specified("security-group-rule", i) };
      const made = await ec2.authorizeSecurityGroupIngress(wanted);
      return made.SecurityGroupRules[0].SecurityGroupRuleId;
    },
    see: (id) => ec2.describeSecurityGroupRules({ SecurityGroupRuleIds: [id] }),
    end: (id, { groupId: GroupId }) =>
      ec2.revokeSecurityGroupIngress({ GroupId, SecurityGroupRuleIds: [id] }),
  },
  loadBalancer: {
    make: async (i) => {
      const { name: Name, subnetId, groupId } = i;
      const place = { Type: "network", Subnets: [subnetId], SecurityGroups: [groupId] };
      const made = await elb.createLoadBalancer({ Name, ...place, Tags: tags("loadBalancer", i) });
      return made.LoadBalancers[0].LoadBalancerArn;
    },
    see: (id) => elb.describeLoadBalancers({ LoadBalancerArns: [id] }),
    end: (id) => elb.deleteLoadBalancer({ LoadBalancerArn: id }),
  },
  targetGroup: {
    make: async (i) => {
      const wanted = { Name: i.name, Protocol: "TCP", Port: 6443, VpcId: i.vpcId };
      const made = await elb.createTargetGroup({ ...wanted, Tags: tags("targetGroup", i) });
      return made.TargetGroups[0].TargetGroupArn;
    },
    see: (id) => elb.describeTargetGroups({ TargetGroupArns: [id] }),
    end: (id) => elb.deleteTargetGroup({ TargetGroupArn: id }),
  },
  listener: {
    make: async (i) => {
      const { loadBalancerArn: LoadBalancerArn, targetGroupArn: TargetGroupArn } = i;
      const DefaultActions = [{ Type: "forward", TargetGroupArn }];
      const wanted = { LoadBalancerArn, Protocol: "TCP", Port: 6443, DefaultActions };
      const made = await elb.createListener({ ...wanted, Tags: tags("listener", i) });
      return made.Listeners[0].ListenerArn;
    },
    see: (id) => elb.describeListeners({ ListenerArns: [id] }),
    end: (id) => elb.deleteListener({ ListenerArn: id }),
  },
  instance: {
    make: async (i) => {
      const { Images } = await ec2.describeImages({
        Filters: [{ Name: "architecture", Values: ["x86_64"] }],
      });
      const [{ ImageId }] = Images;
      const { subnetId: SubnetId, groupId } = i;
      const place = { SubnetId, SecurityGroupIds: [groupId], MinCount: 1, MaxCount: 1 };
      const wanted = { ImageId, InstanceType: "t3.medium", ...place, ...specified("instance", i) };
      return (await ec2.runInstances(wanted)).Instances[0].InstanceId;
    },
    see: async (id) => {
      const { Reservations } = await ec2.describeInstances({ InstanceIds: [id] });
      const all = Reservations.flatMap(({ Instances }) => Instances);
      return all.filter(({ State }) => ["pending", "running"].includes(State.Name));
    },
    end: (id) => ec2.terminateInstances({ InstanceIds: [id] }),
  },
  target: {
    make: async ({ targetGroupArn: TargetGroupArn, instanceId: Id }) => {
      await elb.registerTargets({ TargetGroupArn, Targets: [{ Id, Port: 6443 }] });
      return `${TargetGroupArn}|${Id}:6443`;
    },
    see: async (id) => {
      const [TargetGroupArn, target] = id.split("|");
      const { TargetHealthDescriptions } = await elb.describeTargetHealth({ TargetGroupArn });
      return TargetHealthDescriptions.filter(({ Target }) => target.startsWith(Target.Id));
    },
    end: (_, { targetGroupArn: TargetGroupArn, instanceId: Id }) =>
      elb.deregisterTargets({ TargetGroupArn, Targets: [{ Id, Port: 6443 }] }),
  },
  volume: {
    make: async (i) => {
      const place = { AvailabilityZone: "eu-north-1a", VolumeType: "gp3" };
      const made = await ec2.createVolume({ ...place, Size: i.gib, ...specified("volume", i) });
      const { VolumeId } = made;
      const { instanceId: InstanceId, device: Device } = i;
      await patiently(() => ec2.attachVolume({ VolumeId, InstanceId, Device }));
      return VolumeId;
    },
    see: (id) => ec2.describeVolumes({ VolumeIds: [id] }),
    end: async (id) => {
      await patiently(
        () => ec2.detachVolume({ VolumeId: id }),
        ({ name }) => name !== "AuthFailure",
      );
      await ec2.deleteVolume({ VolumeId: id });
    },
  },
};

exports.patiently = patiently;
exports.isGone = isGone;
