import type { EC2 } from "@aws-sdk/client-ec2";
import type { AwsPluginDouble } from "./aws-plugin-double.js";

/** What programs make of a network by native resources is there on the simulated AWS, where clusters look for it. */
export function makeNetworksIn(ec2: EC2, aws: AwsPluginDouble): void {
  aws.makers.set("aws:ec2/vpc:Vpc", async ({ cidrBlock }) => {
    const { Vpc } = await ec2.createVpc({ CidrBlock: String(cidrBlock) });
    return Vpc?.VpcId ?? "";
  });
  aws.makers.set("aws:ec2/subnet:Subnet", async ({ vpcId, cidrBlock, availabilityZone }) => {
    const { Subnet } = await ec2.createSubnet({
      VpcId: String(vpcId),
      CidrBlock: String(cidrBlock),
      AvailabilityZone: String(availabilityZone),
    });
    return Subnet?.SubnetId ?? "";
  });
  aws.makers.set("aws:ec2/internetGateway:InternetGateway", async ({ vpcId }) => {
    const { InternetGateway } = await ec2.createInternetGateway({});
    const InternetGatewayId = InternetGateway?.InternetGatewayId ?? "";
    await ec2.attachInternetGateway({ InternetGatewayId, VpcId: String(vpcId) });
    return InternetGatewayId;
  });
}
