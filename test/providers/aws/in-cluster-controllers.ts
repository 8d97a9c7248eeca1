import { expectDefined } from "../../../src/api/error.js";
import { EC2, type ResourceType } from "@aws-sdk/client-ec2";
import { ElasticLoadBalancing } from "@aws-sdk/client-elastic-load-balancing";
import { ElasticLoadBalancingV2 } from "@aws-sdk/client-elastic-load-balancing-v2";

/** Where controllers of a cluster make things. */
export interface ControllerPlace {
  /** The cluster's name as its controllers are told it. */
  readonly cluster: string;
  readonly vpcId: string;
  readonly subnetIds: readonly string[];
  readonly zone: string;
  /** A group of the cluster that is opened for a load balancer. */
  readonly nodeGroupId?: string;
  /** Tells what is made from what others of the account have: names are unique. */
  readonly suffix: string;
}

/** What they have made, by what it is. */
export type Planted = Readonly<Record<keyof typeof plantedKinds, string>>;

/** As plans name them. */
export const plantedKinds = {
  serviceBalancer: "load balancer",
  ccmBalancer: "load balancer",
  classicBalancer: "classic load balancer",
  serviceTargets: "target group",
  interface: "network interface",
  managedGroup: "security group",
  elbGroup: "security group",
  claim: "volume",
} as const;

const tag = (tags: Readonly<Record<string, string>>) =>
  Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
const of = (ResourceType: ResourceType, tags: Readonly<Record<string, string>>) => ({
  TagSpecifications: [{ ResourceType, Tags: tag(tags) }],
});

/** A VPC with a subnet that is no cluster's of ours, and what controllers have made there for another one. */
export async function plantNeighbour(
  clients: ReturnType<typeof controllerClients>,
  { cluster, suffix }: Pick<ControllerPlace, "cluster" | "suffix">,
): Promise<Planted> {
  const { ec2 } = clients;
  const zone = "eu-north-1a";
  const vpcId = (await ec2.createVpc({ CidrBlock: "10.9.0.0/16" })).Vpc?.VpcId ?? "";
  const made = await ec2.createSubnet({
    VpcId: vpcId,
    CidrBlock: "10.9.0.0/20",
    AvailabilityZone: zone,
  });
  const subnetIds = [made.Subnet?.SubnetId ?? ""];
  return plantLeftovers(clients, { cluster, vpcId, subnetIds, zone, suffix });
}

/** The same in the only VPC of a cluster of ours. */
export async function plantInside(
  clients: ReturnType<typeof controllerClients>,
  { cluster, suffix }: Pick<ControllerPlace, "cluster" | "suffix">,
): Promise<Planted> {
  const { ec2 } = clients;
  const zone = "eu-north-1a";
  const { Vpcs = [] } = await ec2.describeVpcs({
    Filters: [{ Name: "tag:capstan:cluster", Values: [`default/${cluster}`] }],
  });
  const vpcId = Vpcs[0]?.VpcId ?? "";
  const inVpc = { Name: "vpc-id", Values: [vpcId] };
  const { Subnets = [] } = await ec2.describeSubnets({
    Filters: [inVpc, { Name: "availability-zone", Values: [zone] }],
  });
  const { SecurityGroups = [] } = await ec2.describeSecurityGroups({
    Filters: [inVpc, { Name: "tag:capstan:name", Values: ["node"] }],
  });
  const subnetIds = Subnets.slice(0, 1).map(({ SubnetId = "" }) => SubnetId);
  const nodeGroupId = SecurityGroups[0]?.GroupId ?? "";
  return plantLeftovers(clients, { cluster, vpcId, subnetIds, zone, nodeGroupId, suffix });
}

/** Clients of the cloud that answers at an endpoint, as controllers have them. */
export function controllerClients(endpoint: string) {
  const credentials = { accessKeyId: "controllers", secretAccessKey: "controllers" };
  const how = { endpoint, region: "eu-north-1", credentials };
  return {
    ec2: new EC2(how),
    elb: new ElasticLoadBalancingV2(how),
    classicElb: new ElasticLoadBalancing(how),
  };
}

/**
 * Makes what aws-load-balancer-controller, the cloud controller manager, aws-ebs-csi-driver and the VPC CNI make for a
 * Service each, a PersistentVolumeClaim and a node, with the tags that they put on.
 */
export async function plantLeftovers(
  { ec2, elb, classicElb }: ReturnType<typeof controllerClients>,
  { cluster, vpcId, subnetIds, zone, nodeGroupId, suffix }: ControllerPlace,
): Promise<Planted> {
  const owned = { [`kubernetes.io/cluster/${cluster}`]: "owned" };
  const service = {
    "elbv2.k8s.aws/cluster": cluster,
    "service.k8s.aws/stack": "shop/web",
  };
  const managed = await ec2.createSecurityGroup({
    GroupName: `k8s-shop-web-${suffix}`,
    Description: "[k8s] Managed SecurityGroup for LoadBalancer",
    VpcId: vpcId,
    ...of("security-group", { ...service, "service.k8s.aws/resource": "ManagedLBSecurityGroup" }),
  });
  const elbGroup = await ec2.createSecurityGroup({
    GroupName: `k8s-elb-a${suffix}`,
    Description: `Security group for Kubernetes ELB a${suffix} (shop/old)`,
    VpcId: vpcId,
    ...of("security-group", owned),
  });
  if (nodeGroupId !== undefined) {
    const pairs = [{ GroupId: elbGroup.GroupId, Description: "opened by a controller" }];
    const permission = { IpProtocol: "tcp", FromPort: 30_000, ToPort: 32_767 };
    await ec2.authorizeSecurityGroupIngress({
      GroupId: nodeGroupId,
      IpPermissions: [{ ...permission, UserIdGroupPairs: pairs }],
    });
  }
  const balancer = (Name: string, Tags: object, groups: (string | undefined)[]) =>
    elb.createLoadBalancer({
      Name,
      Type: "network",
      Scheme: "internal",
      Subnets: [...subnetIds],
      SecurityGroups: groups.flatMap((id) => id ?? []),
      Tags: tag({ ...Tags }),
    });
  const first = await balancer(`k8s-shop-web-${suffix}`, service, [managed.GroupId]);
  const second = await balancer(
    `a${suffix}`,
    { ...owned, "kubernetes.io/service-name": "shop/old" },
    [elbGroup.GroupId],
  );
  const classicBalancer = await leaveClassicBalancer(classicElb, {
    cluster,
    subnetIds,
    groupId: elbGroup.GroupId,
    suffix,
  });
  const serviceBalancer = first.LoadBalancers?.[0]?.LoadBalancerArn ?? "";
  const targets = await elb.createTargetGroup({
    Name: `k8s-shop-web-${suffix}`,
    Protocol: "TCP",
    Port: 80,
    VpcId: vpcId,
    TargetType: "instance",
    Tags: tag(service),
  });
  const serviceTargets = targets.TargetGroups?.[0]?.TargetGroupArn ?? "";
  await elb.createListener({
    LoadBalancerArn: serviceBalancer,
    Protocol: "TCP",
    Port: 80,
    DefaultActions: [{ Type: "forward", TargetGroupArn: serviceTargets }],
  });
  const cniInterface = await leaveInterface(ec2, { subnetId: subnetIds[0] ?? "", cluster });
  const volume = await ec2.createVolume({
    AvailabilityZone: zone,
    Size: 1,
    VolumeType: "gp3",
    ...of("volume", {
      ...owned,
      "ebs.csi.aws.com/cluster": "true",
      CSIVolumeName: `pvc-${suffix}`,
      "kubernetes.io/created-for/pvc/name": "data",
      "kubernetes.io/created-for/pvc/namespace": "shop",
    }),
  });
  return {
    serviceBalancer,
    ccmBalancer: second.LoadBalancers?.[0]?.LoadBalancerArn ?? "",
    classicBalancer,
    serviceTargets,
    interface: cniInterface,
    managedGroup: managed.GroupId ?? "",
    elbGroup: elbGroup.GroupId ?? "",
    claim: volume.VolumeId ?? "",
  };
}

/** Makes what the cloud controller manager leaves of a Service that asks for no kind of load balancer: its name. */
export async function leaveClassicBalancer(
  classicElb: Pick<ElasticLoadBalancing, "createLoadBalancer">,
  {
    cluster,
    subnetIds,
    groupId,
    suffix,
  }: Pick<ControllerPlace, "cluster" | "subnetIds" | "suffix"> & {
    readonly groupId?: string | undefined;
  },
): Promise<string> {
  // So the controller makes names: of the Service's uid.
  const LoadBalancerName = `a5c1e0${suffix}`;
  await classicElb.createLoadBalancer({
    LoadBalancerName,
    Scheme: "internal",
    Listeners: [{ Protocol: "TCP", LoadBalancerPort: 80, InstancePort: 30_081 }],
    Subnets: [...subnetIds],
    SecurityGroups: groupId === undefined ? [] : [groupId],
    Tags: tag({
      [`kubernetes.io/cluster/${cluster}`]: "owned",
      "kubernetes.io/service-name": "shop/oldest",
    }),
  });
  return LoadBalancerName;
}

/** Makes what the VPC CNI leaves of a node: the interface's id. */
export async function leaveInterface(
  ec2: Pick<EC2, "createNetworkInterface">,
  { subnetId, cluster }: { readonly subnetId: string; readonly cluster: string },
): Promise<string> {
  const { NetworkInterface } = await ec2.createNetworkInterface({
    SubnetId: subnetId,
    Description: "aws-K8S-i-0123",
    ...of("network-interface", {
      "node.k8s.amazonaws.com/instance_id": "i-0123",
      "cluster.k8s.amazonaws.com/name": cluster,
    }),
  });
  return expectDefined(NetworkInterface?.NetworkInterfaceId, "an interface");
}
