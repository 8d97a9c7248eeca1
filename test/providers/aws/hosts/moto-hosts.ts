import type { EC2 } from "@aws-sdk/client-ec2";
import type { HostSource } from "./account-hosts.js";
import type { InstanceFacts } from "./host-cluster.js";

/** The hosts of an account that moto has, where all is done at once: they join as soon as they are there. */
export class MotoHosts implements HostSource {
  constructor(private readonly ec2: EC2) {}

  async look(): Promise<{
    readonly instances: readonly InstanceFacts[];
    readonly accountMs: number;
  }> {
    const Filters = [{ Name: "tag-key", Values: ["capstan:token"] }];
    const { Reservations = [] } = await this.ec2.describeInstances({ Filters });
    const all = Reservations.flatMap(({ Instances = [] }) => Instances);
    const instances: InstanceFacts[] = [];
    for (const one of all) {
      const { InstanceId: id = "", Placement, PrivateDnsName = "", PrivateIpAddress = "" } = one;
      const isRunning = one.State?.Name === "running";
      instances.push({
        id,
        isRunning,
        dueAtMs: 0,
        userData: isRunning ? await this.userDataOf(id) : undefined,
        providerId: `aws:///${Placement?.AvailabilityZone ?? ""}/${id}`,
        hostname: PrivateDnsName,
        address: PrivateIpAddress,
      });
    }
    return { instances, accountMs: Date.now() };
  }

  /** moto finds every target healthy. */
  tellHealth(): Promise<void> {
    return Promise.resolve();
  }

  private async userDataOf(InstanceId: string): Promise<string | undefined> {
    const asked = { InstanceId, Attribute: "userData" } as const;
    return (await this.ec2.describeInstanceAttribute(asked)).UserData?.Value;
  }
}
