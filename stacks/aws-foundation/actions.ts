/** A type of resource as IAM names it in ARNs: "vpc", "loadbalancer/net"; "loadbalancer" is a classic one, whose pattern fits the others too. */
type ResourceType = string;

/** A call of an API and the right that it needs. */
export interface ApiCall {
  readonly service: "ec2" | "elasticloadbalancing" | "ecr" | "secretsmanager" | "servicequotas";
  readonly call: string;
  /** What it makes, with our marks in the call: it may make nothing without. */
  readonly makes?: readonly ResourceType[];
  /** What it changes or takes away: only what bears our marks. */
  readonly changes?: readonly ResourceType[];
  /** What controllers in a cluster have made and a destroy takes away: only what bears their tag. */
  readonly sweeps?: readonly ResourceType[];
  /** What it needs besides, whose ever it is. */
  readonly uses?: readonly ResourceType[];
  /** Rights that it needs besides its own, for the same resources. */
  readonly needs?: readonly string[];
  /** What it makes besides and gives tags, but no marks: that goes with what has some. */
  readonly tags?: readonly ResourceType[];
}

// A call without resources only reads: Secrets Manager lists all secrets or none, and EC2 and Elastic Load Balancing tell no one resource apart there. Source: Service
// Authorization Reference, "Actions, resources, and condition keys" of Amazon EC2, of Elastic Load Balancing and its V2 and of
// AWS Secrets Manager.

/** What bears tags of its own in EC2. */
const tagged: readonly ResourceType[] = [
  "elastic-ip",
  "instance",
  "internet-gateway",
  "natgateway",
  "route-table",
  "security-group",
  "security-group-rule",
  "subnet",
  "volume",
  "vpc",
];

/** What Capstan's AWS provider calls: the rights of whoever runs capstan. A test compares it with the provider's sources. */
export const providerCalls: readonly ApiCall[] = [
  { service: "ec2", call: "DescribeAccountAttributes" },
  { service: "ec2", call: "DescribeAddresses" },
  { service: "ec2", call: "DescribeAvailabilityZones" },
  { service: "ec2", call: "DescribeImages" },
  { service: "ec2", call: "DescribeInstanceTypeOfferings" },
  { service: "ec2", call: "DescribeInstanceTypes" },
  { service: "ec2", call: "DescribeInstanceStatus" },
  { service: "ec2", call: "DescribeInstances" },
  { service: "ec2", call: "DescribeInternetGateways" },
  { service: "ec2", call: "DescribeNatGateways" },
  { service: "ec2", call: "DescribeNetworkInterfaces" },
  { service: "ec2", call: "DescribeRouteTables" },
  { service: "ec2", call: "DescribeSecurityGroupRules" },
  { service: "ec2", call: "DescribeSecurityGroups" },
  { service: "ec2", call: "DescribeSpotInstanceRequests" },
  { service: "ec2", call: "DescribeSubnets" },
  { service: "ec2", call: "DescribeVolumes" },
  { service: "ec2", call: "DescribeVpcAttribute" },
  { service: "ec2", call: "DescribeVpcs" },
  { service: "ec2", call: "CreateVpc", makes: ["vpc"] },
  { service: "ec2", call: "ModifyVpcAttribute", changes: ["vpc"] },
  { service: "ec2", call: "DeleteVpc", changes: ["vpc"] },
  { service: "ec2", call: "CreateSubnet", makes: ["subnet"], uses: ["vpc"] },
  { service: "ec2", call: "ModifySubnetAttribute", changes: ["subnet"] },
  { service: "ec2", call: "DeleteSubnet", changes: ["subnet"] },
  { service: "ec2", call: "CreateInternetGateway", makes: ["internet-gateway"] },
  {
    service: "ec2",
    call: "AttachInternetGateway",
    changes: ["internet-gateway"],
    uses: ["vpc"],
  },
  {
    service: "ec2",
    call: "DetachInternetGateway",
    changes: ["internet-gateway"],
    uses: ["vpc"],
  },
  { service: "ec2", call: "DeleteInternetGateway", changes: ["internet-gateway"] },
  { service: "ec2", call: "AllocateAddress", makes: ["elastic-ip"] },
  { service: "ec2", call: "ReleaseAddress", changes: ["elastic-ip"] },
  {
    service: "ec2",
    call: "CreateNatGateway",
    makes: ["natgateway"],
    uses: ["elastic-ip", "subnet"],
  },
  { service: "ec2", call: "DeleteNatGateway", changes: ["natgateway"] },
  { service: "ec2", call: "CreateRouteTable", makes: ["route-table"], uses: ["vpc"] },
  { service: "ec2", call: "DeleteRouteTable", changes: ["route-table"] },
  { service: "ec2", call: "CreateRoute", changes: ["route-table"] },
  { service: "ec2", call: "ReplaceRoute", changes: ["route-table"] },
  { service: "ec2", call: "DeleteRoute", changes: ["route-table"] },
  { service: "ec2", call: "AssociateRouteTable", changes: ["route-table"], uses: ["subnet"] },
  { service: "ec2", call: "DisassociateRouteTable", changes: ["route-table"], uses: ["subnet"] },
  { service: "ec2", call: "CreateSecurityGroup", makes: ["security-group"], uses: ["vpc"] },
  {
    service: "ec2",
    call: "DeleteSecurityGroup",
    changes: ["security-group"],
    sweeps: ["security-group"],
  },
  { service: "ec2", call: "DeleteNetworkInterface", sweeps: ["network-interface"] },
  {
    service: "ec2",
    call: "AuthorizeSecurityGroupIngress",
    makes: ["security-group-rule"],
    changes: ["security-group"],
  },
  {
    service: "ec2",
    call: "RevokeSecurityGroupIngress",
    changes: ["security-group", "security-group-rule"],
    sweeps: ["security-group"],
  },
  {
    service: "ec2",
    call: "RevokeSecurityGroupEgress",
    changes: ["security-group"],
    sweeps: ["security-group"],
  },
  {
    service: "ec2",
    call: "RunInstances",
    makes: ["instance"],
    tags: ["volume"],
    uses: [
      "image",
      "key-pair",
      "network-interface",
      "placement-group",
      "security-group",
      "snapshot",
      "spot-instances-request",
      "subnet",
      "volume",
    ],
  },
  { service: "ec2", call: "GetConsoleOutput", changes: ["instance"] },
  {
    service: "ec2",
    call: "ModifyInstanceAttribute",
    changes: ["instance"],
    uses: ["security-group"],
  },
  { service: "ec2", call: "ModifyInstanceMetadataOptions", changes: ["instance"] },
  { service: "ec2", call: "StartInstances", changes: ["instance"] },
  { service: "ec2", call: "TerminateInstances", changes: ["instance"] },
  { service: "ec2", call: "CreateVolume", makes: ["volume"] },
  { service: "ec2", call: "AttachVolume", changes: ["instance", "volume"] },
  { service: "ec2", call: "DetachVolume", changes: ["instance", "volume"] },
  { service: "ec2", call: "ModifyVolume", changes: ["volume"] },
  { service: "ec2", call: "DeleteVolume", changes: ["volume"], sweeps: ["volume"] },
  { service: "ec2", call: "CreateTags", changes: tagged },
  { service: "ec2", call: "DeleteTags", changes: tagged },
  { service: "elasticloadbalancing", call: "DescribeListeners" },
  { service: "elasticloadbalancing", call: "DescribeLoadBalancerAttributes" },
  { service: "elasticloadbalancing", call: "DescribeLoadBalancers" },
  { service: "elasticloadbalancing", call: "DescribeTags" },
  { service: "elasticloadbalancing", call: "DescribeTargetGroupAttributes" },
  { service: "elasticloadbalancing", call: "DescribeTargetGroups" },
  { service: "elasticloadbalancing", call: "DescribeTargetHealth" },
  { service: "elasticloadbalancing", call: "CreateLoadBalancer", makes: ["loadbalancer/net"] },
  {
    service: "elasticloadbalancing",
    call: "ModifyLoadBalancerAttributes",
    changes: ["loadbalancer/net"],
  },
  { service: "elasticloadbalancing", call: "SetSecurityGroups", changes: ["loadbalancer/net"] },
  { service: "elasticloadbalancing", call: "SetSubnets", changes: ["loadbalancer/net"] },
  {
    service: "elasticloadbalancing",
    call: "DeleteLoadBalancer",
    changes: ["loadbalancer/net"],
    sweeps: ["loadbalancer", "loadbalancer/app", "loadbalancer/net"],
  },
  { service: "elasticloadbalancing", call: "CreateTargetGroup", makes: ["targetgroup"] },
  {
    service: "elasticloadbalancing",
    call: "ModifyTargetGroupAttributes",
    changes: ["targetgroup"],
  },
  { service: "elasticloadbalancing", call: "RegisterTargets", changes: ["targetgroup"] },
  { service: "elasticloadbalancing", call: "DeregisterTargets", changes: ["targetgroup"] },
  {
    service: "elasticloadbalancing",
    call: "DeleteTargetGroup",
    changes: ["targetgroup"],
    sweeps: ["targetgroup"],
  },
  {
    service: "elasticloadbalancing",
    call: "CreateListener",
    makes: ["listener/net"],
    changes: ["loadbalancer/net"],
  },
  { service: "elasticloadbalancing", call: "ModifyListener", changes: ["listener/net"] },
  { service: "elasticloadbalancing", call: "DeleteListener", changes: ["listener/net"] },
  {
    service: "elasticloadbalancing",
    call: "AddTags",
    changes: ["listener/net", "loadbalancer/net", "targetgroup"],
  },
  {
    service: "elasticloadbalancing",
    call: "RemoveTags",
    changes: ["listener/net", "loadbalancer/net", "targetgroup"],
  },
  { service: "servicequotas", call: "GetServiceQuota" },
  { service: "secretsmanager", call: "ListSecrets" },
  { service: "secretsmanager", call: "DescribeSecret", uses: ["secret"] },
  { service: "secretsmanager", call: "CreateSecret", makes: ["secret"], needs: ["TagResource"] },
  { service: "secretsmanager", call: "PutSecretValue", changes: ["secret"] },
  { service: "secretsmanager", call: "DeleteSecret", changes: ["secret"] },
];

/**
 * Tags of controllers, by the types that bear them: a condition names whole keys, so what bears a cluster's name in its
 * key alone (security groups of the cloud controller manager) is not among them.
 */
export const controllerTags: readonly {
  readonly tag: string;
  readonly on: readonly ResourceType[];
}[] = [
  {
    tag: "elbv2.k8s.aws/cluster",
    on: ["loadbalancer/app", "loadbalancer/net", "security-group", "targetgroup"],
  },
  { tag: "kubernetes.io/service-name", on: ["loadbalancer", "loadbalancer/net", "targetgroup"] },
  { tag: "ebs.csi.aws.com/cluster", on: ["volume"] },
  { tag: "node.k8s.amazonaws.com/instance_id", on: ["network-interface"] },
];

/** What each machine asks of the cloud: where it is itself, and images of the account's own registry. */
export const nodeCalls: readonly ApiCall[] = [
  { service: "ec2", call: "DescribeInstances" },
  { service: "ec2", call: "DescribeRegions" },
  { service: "ecr", call: "GetAuthorizationToken" },
  { service: "ecr", call: "BatchCheckLayerAvailability", uses: ["repository"] },
  { service: "ecr", call: "BatchGetImage", uses: ["repository"] },
  { service: "ecr", call: "GetDownloadUrlForLayer", uses: ["repository"] },
];

/** Which machines a secret is for: the tag that the provider gives it, and what of it a role may read. */
export const secretRoles = {
  tag: "capstan:role",
  controlPlane: "control-plane",
  worker: "worker",
} as const;

/** What Kubernetes' own controller of the cloud asks for the nodes. Source: cloud-provider-aws, "Prerequisites". */
export const controlPlaneCalls: readonly ApiCall[] = [
  ...nodeCalls,
  { service: "ec2", call: "DescribeAvailabilityZones" },
  { service: "ec2", call: "DescribeInstanceTopology" },
];

/** Controllers that run in a cluster and make things of their own there. */
export type InCluster = "loadBalancers" | "volumes";

/** What such a controller calls, and the tag that it puts on what it makes. */
interface ControllerCalls {
  readonly tag: string;
  readonly calls: readonly ApiCall[];
}

const balancers: readonly ResourceType[] = ["loadbalancer/app", "loadbalancer/net"];
const listeners: readonly ResourceType[] = ["listener/app", "listener/net"];
const rules: readonly ResourceType[] = ["listener-rule/app", "listener-rule/net"];

/** Sources: the policies that aws-load-balancer-controller and aws-ebs-csi-driver ask for in their installation guides. */
export const inClusterCalls: Readonly<Record<InCluster, ControllerCalls>> = {
  loadBalancers: {
    tag: "elbv2.k8s.aws/cluster",
    calls: [
      { service: "ec2", call: "DescribeAccountAttributes" },
      { service: "ec2", call: "DescribeAddresses" },
      { service: "ec2", call: "DescribeInternetGateways" },
      { service: "ec2", call: "DescribeNetworkInterfaces" },
      { service: "ec2", call: "DescribeRouteTables" },
      { service: "ec2", call: "DescribeSecurityGroups" },
      { service: "ec2", call: "DescribeSubnets" },
      { service: "ec2", call: "DescribeTags" },
      { service: "ec2", call: "DescribeVpcs" },
      { service: "ec2", call: "CreateSecurityGroup", makes: ["security-group"], uses: ["vpc"] },
      // The groups of machines let in what the load balancers send, and are no load balancer's.
      { service: "ec2", call: "AuthorizeSecurityGroupIngress", uses: ["security-group"] },
      { service: "ec2", call: "RevokeSecurityGroupIngress", uses: ["security-group"] },
      { service: "ec2", call: "DeleteSecurityGroup", changes: ["security-group"] },
      { service: "elasticloadbalancing", call: "DescribeListenerAttributes" },
      { service: "elasticloadbalancing", call: "DescribeListenerCertificates" },
      { service: "elasticloadbalancing", call: "DescribeListeners" },
      { service: "elasticloadbalancing", call: "DescribeLoadBalancerAttributes" },
      { service: "elasticloadbalancing", call: "DescribeLoadBalancers" },
      { service: "elasticloadbalancing", call: "DescribeRules" },
      { service: "elasticloadbalancing", call: "DescribeSSLPolicies" },
      { service: "elasticloadbalancing", call: "DescribeTags" },
      { service: "elasticloadbalancing", call: "DescribeTargetGroupAttributes" },
      { service: "elasticloadbalancing", call: "DescribeTargetGroups" },
      { service: "elasticloadbalancing", call: "DescribeTargetHealth" },
      { service: "elasticloadbalancing", call: "CreateLoadBalancer", makes: balancers },
      { service: "elasticloadbalancing", call: "DeleteLoadBalancer", changes: balancers },
      { service: "elasticloadbalancing", call: "ModifyLoadBalancerAttributes", changes: balancers },
      { service: "elasticloadbalancing", call: "SetSecurityGroups", changes: balancers },
      { service: "elasticloadbalancing", call: "SetSubnets", changes: balancers },
      {
        service: "elasticloadbalancing",
        call: "CreateListener",
        makes: listeners,
        changes: balancers,
      },
      { service: "elasticloadbalancing", call: "DeleteListener", changes: listeners },
      { service: "elasticloadbalancing", call: "ModifyListener", changes: listeners },
      { service: "elasticloadbalancing", call: "CreateRule", makes: rules, changes: listeners },
      { service: "elasticloadbalancing", call: "DeleteRule", changes: rules },
      { service: "elasticloadbalancing", call: "ModifyRule", changes: rules },
      { service: "elasticloadbalancing", call: "CreateTargetGroup", makes: ["targetgroup"] },
      { service: "elasticloadbalancing", call: "DeleteTargetGroup", changes: ["targetgroup"] },
      { service: "elasticloadbalancing", call: "ModifyTargetGroup", changes: ["targetgroup"] },
      {
        service: "elasticloadbalancing",
        call: "ModifyTargetGroupAttributes",
        changes: ["targetgroup"],
      },
      { service: "elasticloadbalancing", call: "RegisterTargets", changes: ["targetgroup"] },
      { service: "elasticloadbalancing", call: "DeregisterTargets", changes: ["targetgroup"] },
      {
        service: "elasticloadbalancing",
        call: "AddTags",
        changes: [...balancers, ...listeners, ...rules, "targetgroup"],
      },
      {
        service: "elasticloadbalancing",
        call: "RemoveTags",
        changes: [...balancers, ...listeners, ...rules, "targetgroup"],
      },
    ],
  },
  volumes: {
    tag: "ebs.csi.aws.com/cluster",
    calls: [
      { service: "ec2", call: "DescribeTags" },
      { service: "ec2", call: "DescribeVolumes" },
      { service: "ec2", call: "DescribeVolumesModifications" },
      { service: "ec2", call: "CreateVolume", makes: ["volume"] },
      { service: "ec2", call: "AttachVolume", changes: ["volume"], uses: ["instance"] },
      { service: "ec2", call: "DetachVolume", changes: ["volume"], uses: ["instance"] },
      { service: "ec2", call: "ModifyVolume", changes: ["volume"] },
      { service: "ec2", call: "DeleteVolume", changes: ["volume"] },
    ],
  },
};
