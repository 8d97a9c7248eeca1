import type { EC2 } from "@aws-sdk/client-ec2";
import type { SecretsManager } from "@aws-sdk/client-secrets-manager";
import type { HostSource } from "./account-hosts.js";
import { secretNamedIn } from "./first-start.js";
import type { InstanceFacts } from "./host-cluster.js";

/** The hosts of an account that moto has, where all is done at once: they join as soon as they are there. */
export class MotoHosts implements HostSource {
  constructor(
    private readonly ec2: EC2,
    private readonly secrets: SecretsManager,
  ) {}

  /** moto finds every target healthy at once. */
  begin(): Promise<void> {
    return Promise.resolve();
  }

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
        told: isRunning ? await this.toldTo(id) : undefined,
        providerId: `aws:///${Placement?.AvailabilityZone ?? ""}/${id}`,
        hostname: PrivateDnsName,
        address: PrivateIpAddress,
      });
    }
    return { instances, accountMs: Date.now() };
  }

  tellHealth(): Promise<void> {
    return Promise.resolve();
  }

  private async toldTo(InstanceId: string): Promise<string | undefined> {
    const asked = { InstanceId, Attribute: "userData" } as const;
    const userData = (await this.ec2.describeInstanceAttribute(asked)).UserData?.Value;
    const name = userData && secretNamedIn(userData);
    return name ? this.keptUnder(name) : userData;
  }

  /** Gone once its host has joined. */
  private async keptUnder(SecretId: string): Promise<string | undefined> {
    const { SecretList = [] } = await this.secrets.listSecrets({
      Filters: [{ Key: "name", Values: [SecretId] }],
    });
    if (SecretList.length === 0) return undefined;
    const { SecretBinary = [] } = await this.secrets.getSecretValue({ SecretId });
    return Buffer.from(SecretBinary).toString("base64");
  }
}
