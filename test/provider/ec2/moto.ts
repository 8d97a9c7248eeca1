import assert from "node:assert/strict";
import { EC2, type Instance } from "@aws-sdk/client-ec2";
import { STS } from "@aws-sdk/client-sts";
import { findMoto } from "#moto";
import { until } from "../../scenario/until.js";
import { freePorts } from "../../support/free-ports.js";
import { Servers } from "../../support/servers.js";

const region = "eu-north-1";

/** What of an account is there before anybody makes anything in it. */
export interface Account {
  readonly vpcId: string;
  /** Of its first subnet. */
  readonly subnetId: string;
  /** That every VPC has. */
  readonly securityGroupId: string;
  /** Two images that its instances can boot. */
  readonly images: readonly [string, string];
}

/** A moto of its own on loopback, which answers as EC2 and STS do. */
export class Moto {
  /** The environment in which all tools of AWS talk to it. */
  readonly env: Readonly<Record<string, string>>;
  /** For what happens behind a provider's back. */
  readonly ec2: EC2;

  private constructor(
    private readonly servers: Servers,
    private readonly endpoint: string,
  ) {
    this.env = {
      AWS_ENDPOINT_URL: endpoint,
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: "moto",
      AWS_SECRET_ACCESS_KEY: "moto",
    };
    this.ec2 = new EC2(this.settings);
  }

  /** A running one; takes about three seconds. */
  static async start(): Promise<Moto> {
    const python = findMoto(process.env);
    assert.ok(python !== undefined, "no moto: run npm test, which installs it from PyPI");
    const [port = 0] = await freePorts(1);
    const servers = new Servers("moto");
    try {
      servers.start("moto", python, ["-m", "moto.server", "--port", String(port)]);
      const endpoint = `http://127.0.0.1:${port}`;
      await until("moto answers", () => {
        servers.pidOf("moto");
        return fetch(`${endpoint}/moto-api/data.json`).then(
          ({ ok }) => ok,
          () => false,
        );
      });
      return new Moto(servers, endpoint);
    } catch (error) {
      await servers.endAll();
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.ec2.destroy();
    await this.servers.endAll();
  }

  /** A client of one's own. */
  connect(): { readonly ec2: EC2; readonly sts: STS } {
    return { ec2: new EC2(this.settings), sts: new STS(this.settings) };
  }

  /** Everything is gone, and the account as new, with other ids. */
  async reset(): Promise<Account> {
    const { ok } = await fetch(`${this.endpoint}/moto-api/reset`, { method: "POST" });
    assert.ok(ok, "moto forgets everything");
    return this.account();
  }

  async account(): Promise<Account> {
    const { Subnets = [] } = await this.ec2.describeSubnets({});
    const { SubnetId: subnetId, VpcId: vpcId } = Subnets[0] ?? {};
    const { SecurityGroups = [] } = await this.ec2.describeSecurityGroups({
      Filters: [{ Name: "group-name", Values: ["default"] }],
    });
    const { GroupId: securityGroupId } = SecurityGroups[0] ?? {};
    assert.ok(vpcId !== undefined && subnetId !== undefined && securityGroupId !== undefined);
    return { vpcId, subnetId, securityGroupId, images: await this.images() };
  }

  /** All that it shows, terminated ones too, oldest first. */
  async instances(): Promise<Instance[]> {
    const { Reservations = [] } = await this.ec2.describeInstances({});
    return Reservations.flatMap(({ Instances = [] }) => Instances);
  }

  async alive(): Promise<Instance[]> {
    return (await this.instances()).filter(({ State }) => State?.Name !== "terminated");
  }

  private get settings() {
    const { AWS_ACCESS_KEY_ID: accessKeyId = "", AWS_SECRET_ACCESS_KEY: secretAccessKey = "" } =
      this.env;
    // Whoever injects an error wants it to arrive.
    const { endpoint } = this;
    return { region, endpoint, credentials: { accessKeyId, secretAccessKey }, maxAttempts: 1 };
  }

  /** The same for ever, so they are asked for once: the answer is long. */
  private async images(): Promise<readonly [string, string]> {
    this.known ??= this.ec2.describeImages({}).then(({ Images = [] }) => {
      const [one, other] = Images.map(({ ImageId }) => ImageId).sort();
      assert.ok(one !== undefined && other !== undefined, "moto has images");
      return [one, other];
    });
    return this.known;
  }

  private known: Promise<readonly [string, string]> | undefined;
}
