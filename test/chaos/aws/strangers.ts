import { EC2, type ResourceType } from "@aws-sdk/client-ec2";
import { ElasticLoadBalancingV2 } from "@aws-sdk/client-elastic-load-balancing-v2";

const uid = "00000000-0000-4000-8000-000000000000";

/** Marks of a cluster of the same name in another namespace, and what Kubernetes itself goes by. */
function marks(kind: string, name: string): { readonly Key: string; readonly Value: string }[] {
  const tags = {
    Name: `aws-demo-${name}`,
    "kubernetes.io/cluster/aws-demo": "owned",
    "capstan:cluster": "stranger/aws-demo",
    "capstan:clusterUid": uid,
    "capstan:kind": kind,
    "capstan:name": name,
    "capstan:token": `stranger-${name}`,
  };
  return Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
}

const tagged = (ResourceType: ResourceType, kind: string, name: string) => ({
  TagSpecifications: [{ ResourceType, Tags: marks(kind, name) }],
});

/** Puts into an account what belongs to others and looks very much like ours. */
export async function plantStrangers(env: Readonly<Record<string, string>>): Promise<void> {
  const settings = {
    endpoint: env["AWS_ENDPOINT_URL"] ?? "",
    region: env["AWS_REGION"] ?? "",
    credentials: { accessKeyId: "stranger", secretAccessKey: "stranger" },
  };
  const [ec2, elb] = [new EC2(settings), new ElasticLoadBalancingV2(settings)];
  try {
    const network = await plantNetwork(ec2);
    await plantHost(ec2, network);
    await elb.createLoadBalancer({
      Name: "capstan-stranger",
      Type: "network",
      Subnets: [network.SubnetId],
      Tags: marks("AwsLoadBalancer", "api"),
    });
    await elb.createTargetGroup({
      Name: "capstan-stranger",
      Protocol: "TCP",
      Port: 6443,
      VpcId: network.VpcId,
      Tags: marks("AwsTargetGroup", "api"),
    });
  } finally {
    ec2.destroy();
    elb.destroy();
  }
}

interface Network {
  readonly VpcId: string;
  readonly SubnetId: string;
  readonly GroupId: string;
}

async function plantNetwork(ec2: EC2): Promise<Network> {
  const { Vpc: { VpcId = "" } = {} } = await ec2.createVpc({
    CidrBlock: "10.0.0.0/16",
    ...tagged("vpc", "AwsVpc", "vpc"),
  });
  const { Subnet: { SubnetId = "" } = {} } = await ec2.createSubnet({
    VpcId,
    CidrBlock: "10.0.0.0/19",
    AvailabilityZone: "eu-north-1a",
    ...tagged("subnet", "AwsSubnet", "private-eu-north-1a"),
  });
  const { InternetGateway: { InternetGatewayId = "" } = {} } = await ec2.createInternetGateway(
    tagged("internet-gateway", "AwsInternetGateway", "internet"),
  );
  await ec2.attachInternetGateway({ VpcId, InternetGatewayId });
  await ec2.allocateAddress(tagged("elastic-ip", "AwsElasticIp", "nat-eu-north-1a"));
  await ec2.createRouteTable({
    VpcId,
    ...tagged("route-table", "AwsRouteTable", "private-eu-north-1a"),
  });
  const { GroupId = "" } = await ec2.createSecurityGroup({
    VpcId,
    GroupName: "capstan-stranger",
    Description: "Kubernetes nodes",
    ...tagged("security-group", "AwsSecurityGroup", "node"),
  });
  await ec2.authorizeSecurityGroupIngress({
    GroupId,
    IpPermissions: [
      { IpProtocol: "tcp", FromPort: 6443, ToPort: 6443, IpRanges: [{ CidrIp: "0.0.0.0/0" }] },
    ],
    ...tagged("security-group-rule", "AwsSecurityGroupRule", "apiserver-lb-tcp-6443-from-anywhere"),
  });
  return { VpcId, SubnetId, GroupId };
}

async function plantHost(ec2: EC2, { SubnetId, GroupId }: Network): Promise<void> {
  const { Images: [image] = [] } = await ec2.describeImages({
    Filters: [{ Name: "architecture", Values: ["x86_64"] }],
  });
  await ec2.runInstances({
    ImageId: image?.ImageId,
    InstanceType: "t3.medium",
    MinCount: 1,
    MaxCount: 1,
    SubnetId,
    SecurityGroupIds: [GroupId],
    ...tagged("instance", "AwsInstance", "cp-0-3b81542a-1"),
  });
  await ec2.createVolume({
    AvailabilityZone: "eu-north-1a",
    Size: 10,
    VolumeType: "gp3",
    ...tagged("volume", "AwsVolume", "cp-0-3b81542a-1-backup"),
  });
}
