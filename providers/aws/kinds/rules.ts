import type { FieldRule, FieldRules } from "../../../src/provider/fields.js";
import { userDataRules } from "../../../src/provider/host-spec.js";
import type { AwsKind } from "./kinds.js";

const inPlace = { kind: "inPlace" } as const;

const replace = (reason: string) => ({ kind: "replace", reason }) as const;

/** What EC2 attaches once: what is attached nowhere is attached in place. */
const attachedOnce =
  (reason: string): FieldRule =>
  (from) =>
    from === undefined ? inPlace : replace(reason);

const stays = (what: string) => replace(`${what} stays in its VPC`);

/** A new one in its place would have no data, and its device only once the old one is gone. */
const otherVolume = (what: string) =>
  ({
    kind: "unsupported",
    reason: `a volume ${what}; add one of another name and device, and take this one out later`,
  }) as const;

/** Of a VPC that is made, and of one that is named by its id. */
const staysInVpc = {
  kind: "unsupported",
  reason:
    "a control plane stays in its VPC, since members in two VPCs do not reach each other; another VPC needs another Cluster",
} as const;

const firstStart = replace("an instance is told it at its first start");

/**
 * What a change of each input takes. Of instances it follows cluster-api-provider-aws 0.3, which refuses a change of
 * instanceType, iamInstanceProfile, keyName, rootDeviceSize, subnet and publicIP, and changes groups and tags.
 */
export const awsRules: Readonly<Record<AwsKind, FieldRules>> = {
  AwsVpc: {
    cidr: staysInVpc,
    dnsHostnames: inPlace,
    dnsSupport: inPlace,
    tags: inPlace,
  },
  AwsInternetGateway: {
    vpcId: attachedOnce("another VPC gets another gateway"),
    tags: inPlace,
  },
  AwsSubnet: {
    vpcId: stays("a subnet"),
    cidr: replace("a subnet keeps its range"),
    zone: replace("a subnet stays in its zone"),
    public: inPlace,
    tags: inPlace,
  },
  AwsElasticIp: { subnetId: replace("another gateway gets another address"), tags: inPlace },
  AwsNatGateway: {
    subnetId: replace("a NAT gateway stays in its subnet"),
    allocationId: replace("a NAT gateway keeps its address"),
    tags: inPlace,
  },
  AwsRouteTable: {
    vpcId: stays("a route table"),
    routes: inPlace,
    subnetIds: inPlace,
    tags: inPlace,
  },
  AwsSecurityGroup: {
    vpcId: stays("a security group"),
    description: replace("a security group keeps its description"),
    addedRules: inPlace,
    tags: inPlace,
  },
  AwsSecurityGroupRule: {
    groupId: replace("a rule stays in its group"),
    protocol: replace("another rule takes its place"),
    fromPort: replace("another rule takes its place"),
    toPort: replace("another rule takes its place"),
    cidr: replace("another rule takes its place"),
    instanceId: replace("another rule takes its place"),
    sourceGroupId: replace("another rule takes its place"),
  },
  AwsLoadBalancer: {
    // Records that older releases wrote do not name it.
    vpcId: (from) => (from === undefined ? inPlace : staysInVpc),
    scheme: replace("a load balancer keeps its kind of addresses"),
    subnetIds: inPlace,
    groupIds: inPlace,
    crossZone: inPlace,
    tags: inPlace,
  },
  AwsTargetGroup: {
    vpcId: stays("a target group"),
    port: replace("a target group keeps its port"),
    preserveClientIp: inPlace,
    deregistrationDelaySeconds: inPlace,
    tags: inPlace,
  },
  AwsListener: {
    loadBalancerArn: replace("a listener stays with its load balancer"),
    port: replace("another port gets another listener"),
    targetGroupArn: inPlace,
    tags: inPlace,
  },
  AwsInstance: {
    imageId: replace("an instance keeps the image that it booted"),
    software: replace("an instance keeps what its first start has brought"),
    instanceType: replace("an instance keeps its type"),
    zone: replace("an instance stays in its zone"),
    subnetId: replace("an instance stays in its subnet"),
    groupIds: inPlace,
    instanceProfile: replace("an instance keeps its profile"),
    keyName: replace("an instance keeps its key pair"),
    publicIp: replace("an address is given at the launch"),
    sourceDestCheck: inPlace,
    rootVolume: replace("the root volume is made with its instance"),
    metadata: inPlace,
    spot: replace("an instance stays spot or on demand"),
    placementGroup: replace("an instance stays where it was placed"),
    tenancy: replace("an instance stays where it was placed"),
    tags: inPlace,
    alternatives: inPlace,
    loadBalancer: replace("a member keeps the endpoint that it began or joined at"),
    role: firstStart,
    // Kept on its Node, beside what others have put there.
    schedulable: inPlace,
    nodeLabels: inPlace,
    nodeAnnotations: inPlace,
    taints: inPlace,
    ...userDataRules,
  },
  AwsTarget: {
    targetGroupArn: replace("a target stays in its group"),
    instanceId: replace("a target stands for one instance"),
    port: replace("another port gets another target"),
  },
  AwsVolume: {
    instanceId: attachedOnce("a volume stays with its instance"),
    zone: replace("a volume stays in its zone"),
    device: (from) => (from === undefined ? inPlace : otherVolume("keeps its device")),
    gib: (from, to) => (Number(to) > Number(from) ? inPlace : otherVolume("only grows")),
    type: inPlace,
    iops: inPlace,
    throughput: inPlace,
    encrypted: otherVolume("stays encrypted or not"),
    kmsKeyId: otherVolume("keeps its key"),
    tags: inPlace,
  },
};
