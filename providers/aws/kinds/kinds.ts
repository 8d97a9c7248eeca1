/** Every kind of resource that a cluster on AWS is made of, in the order in which they are made. */
export const awsKinds = [
  "AwsVpc",
  "AwsInternetGateway",
  "AwsSubnet",
  "AwsElasticIp",
  "AwsNatGateway",
  "AwsRouteTable",
  "AwsSecurityGroup",
  "AwsSecurityGroupRule",
  "AwsLoadBalancer",
  "AwsTargetGroup",
  "AwsListener",
  "AwsInstance",
  "AwsTarget",
  "AwsVolume",
] as const;
export type AwsKind = (typeof awsKinds)[number];
