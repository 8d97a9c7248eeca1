import type { AwsKind } from "./kinds.js";

/** How a kind keeps a create that is called again from making a second one. */
interface CreateProtocol {
  /**
   * `token`: EC2 takes a client token, and answers a second create with what the first has made. `look`: the create bears
   * the marks, and everything of the kind is looked through before it. `key`: AWS has it once, and whatever has taken the
   * key is compared by its token.
   */
  readonly by: "token" | "look" | "key";
  /** The call that makes it, as policies of IAM name it. */
  readonly create: string;
  /** Of `key`: what AWS has once. */
  readonly key?: string;
  /** Where the marks are. */
  readonly marks: string;
}

const tags = "tags in the create";

/** By kind; docs/aws.md has the table. Source: EC2 developer guide, "Ensuring idempotency in Amazon EC2 API requests". */
export const createProtocols: Readonly<Record<AwsKind, CreateProtocol>> = {
  AwsVpc: { by: "look", create: "ec2:CreateVpc", marks: tags },
  AwsInternetGateway: { by: "look", create: "ec2:CreateInternetGateway", marks: tags },
  AwsSubnet: { by: "key", create: "ec2:CreateSubnet", key: "range in the VPC", marks: tags },
  AwsElasticIp: { by: "look", create: "ec2:AllocateAddress", marks: tags },
  AwsNatGateway: { by: "token", create: "ec2:CreateNatGateway", marks: tags },
  AwsRouteTable: { by: "token", create: "ec2:CreateRouteTable", marks: tags },
  AwsSecurityGroup: {
    by: "key",
    create: "ec2:CreateSecurityGroup",
    key: "name in the VPC, made of the token",
    marks: tags,
  },
  AwsSecurityGroupRule: {
    by: "key",
    create: "ec2:AuthorizeSecurityGroupIngress",
    key: "protocol, ports and source in the group",
    marks: tags,
  },
  AwsLoadBalancer: {
    by: "key",
    create: "elasticloadbalancing:CreateLoadBalancer",
    key: "name in account and region, made of the token",
    marks: tags,
  },
  AwsTargetGroup: {
    by: "key",
    create: "elasticloadbalancing:CreateTargetGroup",
    key: "name in account and region, made of the token",
    marks: tags,
  },
  AwsListener: {
    by: "key",
    create: "elasticloadbalancing:CreateListener",
    key: "port of the load balancer",
    marks: tags,
  },
  AwsInstance: { by: "token", create: "ec2:RunInstances", marks: tags },
  AwsTarget: {
    by: "key",
    create: "elasticloadbalancing:RegisterTargets",
    key: "instance and port in the group",
    marks: "a tag of the target group, before it is registered",
  },
  AwsVolume: { by: "token", create: "ec2:CreateVolume", marks: tags },
};
