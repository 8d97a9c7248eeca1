import assert from "node:assert/strict";
import fc from "fast-check";
import { awsProvider } from "../../../providers/aws/provider.js";
import { volumeFindings } from "../../../providers/aws/volume-limits.js";
import { performanceOf } from "../../../providers/sim/aws/ec2/volume-types.js";
import type { SettingsChange } from "../../../providers/sim/aws/model/settings.js";
import type { JsonObject } from "../../../src/api/json.js";
import { unknownValue } from "../../../src/api/unknown.js";
import type { PlannedStep, PreflightFinding } from "../../../src/provider/port.js";
import { assertLaw } from "../../support/laws.js";
import { SimCloud } from "./life/sim-cloud.js";
import { markTagsOf, someone } from "./stub-clients.js";

const region = "eu-north-1";
const clusterSpec = { region, natGateways: "one", hostSecrets: "userData" };

const create = (kind: string, wanted: JsonObject = {}, name = "one"): PlannedStep => {
  return { does: "create", kind, name, wanted };
};

/** An account of a simulated AWS, and its preflight. */
class Account {
  readonly cloud: SimCloud;
  private imageId = "";

  constructor(settings: SettingsChange = {}) {
    this.cloud = new SimCloud(settings);
  }

  async host(more: JsonObject = {}, name = "web-0"): Promise<PlannedStep> {
    const Filters = [{ Name: "architecture", Values: ["x86_64"] }];
    const { Images = [] } = await this.cloud.ec2.describeImages({ Filters });
    this.imageId = Images[0]?.ImageId ?? "";
    const wanted = {
      imageId: this.imageId,
      software: "apt",
      instanceType: "t3.medium",
      zone: `${region}a`,
      subnetId: unknownValue,
      groupIds: [unknownValue],
      rootVolume: { gib: 20, type: "gp3", encrypted: true },
    };
    return create("AwsInstance", { ...wanted, ...more }, name);
  }

  async find(steps: readonly PlannedStep[], more: JsonObject = {}): Promise<PreflightFinding[]> {
    const { signal } = new AbortController();
    const context = { clock: this.cloud.clock, signal, assertEngineAlive: () => undefined };
    const provider = awsProvider(this.cloud.clients);
    return [...((await provider.preflight?.(context, steps, { ...clusterSpec, ...more })) ?? [])];
  }

  get changes(): string[] {
    const calls = this.cloud.aws.ledger.after(0);
    return calls.flatMap(({ action, isMutating }) => (isMutating ? [action] : []));
  }
}

const told = (found: readonly PreflightFinding[]) =>
  found.map(({ code, message, severity = "error" }) => `${severity} ${code} ${message}`);

describe("before the first change on AWS", () => {
  it("all that manifests name and the account lacks is named at once, and nothing is made", async () => {
    const account = new Account({ instanceProfiles: ["capstan-worker"] });
    const subnetId = "subnet-1";
    const found = await account.find(
      [
        create("AwsRouteTable"),
        await account.host(
          { subnetId, instanceProfile: "capstan-control-plane", keyName: "ops" },
          "cp-0",
        ),
        await account.host({ subnetId, instanceProfile: "capstan-worker", groupIds: ["sg-1"] }),
      ],
      {
        vpc: { id: "vpc-1" },
        subnets: [{ id: "subnet-1", zone: `${region}a` }],
        securityGroups: { lb: "sg-2" },
      },
    );
    assert.deepEqual(told(found), [
      "error NOT_FOUND VPC vpc-1 does not exist in eu-north-1",
      "error NOT_FOUND subnet subnet-1 does not exist in eu-north-1",
      "error NOT_FOUND security group sg-2 does not exist in eu-north-1",
      "error NOT_FOUND security group sg-1 does not exist in eu-north-1",
      "error NOT_FOUND instance profile capstan-control-plane does not exist",
      "error NOT_FOUND key pair ops does not exist in eu-north-1",
    ]);
    assert.deepEqual(account.changes, []);
  });

  it("what is there is no finding, in accounts without a default VPC too", async () => {
    for (const defaultVpc of [true, false]) {
      const account = new Account({ instanceProfiles: ["nodes"], defaultVpc });
      const { ec2 } = account.cloud;
      if (!defaultVpc) {
        const { Vpc } = await ec2.createVpc({ CidrBlock: "10.9.0.0/16" });
        await ec2.createSubnet({ VpcId: Vpc?.VpcId, CidrBlock: "10.9.0.0/24" });
      }
      await ec2.importKeyPair({ KeyName: "ops", PublicKeyMaterial: Buffer.from("ssh-rsa AAAA") });
      const host = await account.host({ instanceProfile: "nodes", keyName: "ops" });
      assert.deepEqual(await account.find([create("AwsVpc"), host]), []);
      const absent = await account.host({ instanceProfile: "others" });
      assert.deepEqual(told(await account.find([create("AwsVpc"), absent])), [
        "error NOT_FOUND instance profile others does not exist",
      ]);
    }
  });

  it("a group of another VPC is refused, as EC2 would refuse the launch", async () => {
    const account = new Account();
    const { SecurityGroups = [] } = await account.cloud.ec2.describeSecurityGroups({});
    const [{ GroupId = "", VpcId = "" } = {}] = SecurityGroups;
    const host = await account.host({ groupIds: [GroupId] });
    assert.deepEqual(told(await account.find([create("AwsVpc"), host])), [
      `error INVALID_INPUT security group ${GroupId} is in ${VpcId}, not in the VPC that is to be created`,
    ]);
    assert.deepEqual(await account.find([host], { vpc: { id: VpcId } }), []);
  });

  it("a right that is missing is a warning", async () => {
    const account = new Account();
    const key = {
      principal: "arn:aws:iam::123456789012:user/a",
      account: "123456789012",
      allow: ["ec2:Describe*", "servicequotas:*", "sts:*", "ec2:RunInstances", "ec2:CreateTags"],
    };
    account.cloud.aws.change({ accessKeys: { AKIDLIFE: key } });
    const found = await account.find([await account.host({ instanceProfile: "nodes" })]);
    const [{ code, severity, message } = assert.fail()] = found;
    assert.deepEqual([code, severity], ["PERMISSION", "warning"]);
    assert.match(message, /^cannot tell whether instanceProfile nodes exists: .*iam:PassRole/);
  });

  it("VPCs that are not left are an error", async () => {
    const account = new Account({ quotas: { vpcs: 1 } });
    assert.deepEqual(told(await account.find([create("AwsVpc")])), [
      "error QUOTA 1 VPC is needed, 0 of 1 are left (VPCs per Region)",
    ]);
  });

  it("private hosts without a way out are named", async () => {
    const account = new Account();
    const steps = [create("AwsSubnet"), await account.host()];
    assert.deepEqual(told(await account.find(steps, { natGateways: "none" })), [
      "warning INVALID_INPUT web-0 has no way to the Internet, since no NAT gateway is made and publicIp is not set: without routes of your own it does not reach packages, the public addresses of the API's load balancer",
    ]);
    assert.deepEqual(await account.find(steps), []);
  });

  it("hosts that allowedCidrs shuts out are named", async () => {
    const account = new Account();
    const { ec2 } = account.cloud;
    const { Subnets: [subnet] = [] } = await ec2.describeSubnets({});
    const { AllocationId = "", PublicIp = "" } = await ec2.allocateAddress({});
    await ec2.createNatGateway({ SubnetId: subnet?.SubnetId, AllocationId });
    account.cloud.aws.advance(120_000);
    const there = [await account.host({ subnetId: subnet?.SubnetId ?? "" })];
    const only = (...allowedCidrs: string[]) => ({ apiServer: { allowedCidrs } });
    assert.deepEqual(told(await account.find(there, only("203.0.113.0/24"))), [
      `warning INVALID_INPUT hosts in subnets that are there reach the API servers through NAT gateways with ${PublicIp}: apiServer.allowedCidrs does not let them in`,
    ]);
    assert.deepEqual(await account.find(there, only("203.0.113.0/24", `${PublicIp}/32`)), []);
    // The address of a gateway of the cluster's own has a rule.
    const { NatGateways: [nat] = [] } = await ec2.describeNatGateways({});
    const Tags = markTagsOf(someone("AwsNatGateway"));
    await ec2.createTags({ Resources: [nat?.NatGatewayId ?? ""], Tags });
    assert.deepEqual(await account.find(there, only("203.0.113.0/24")), []);
  });

  it("a public host: its address may be shut out, and its node ports are open", async () => {
    const account = new Account();
    const steps = [await account.host({ publicIp: true })];
    const ports =
      "warning INVALID_INPUT node ports 30000 to 32767 of web-0 are open to the Internet, since publicIp is set";
    assert.deepEqual(told(await account.find(steps)), [ports]);
    const shut = await account.find(steps, { apiServer: { allowedCidrs: ["203.0.113.0/24"] } });
    assert.deepEqual(told(shut), [
      "warning INVALID_INPUT web-0 reaches the API servers with public addresses that EC2 chooses at the launch: apiServer.allowedCidrs may not let them in",
      ports,
    ]);
  });
});

describe("volumes before they are made on AWS", () => {
  const rows: readonly { readonly volume: JsonObject; readonly want: readonly string[] }[] = [
    { volume: { gib: 8, type: "gp3", iops: 3_000, throughput: 125 }, want: [] },
    {
      volume: { gib: 8, type: "gp3", iops: 5_000, throughput: 125 },
      want: ["volume data: 5000 iops need 10 GiB, and it has 8"],
    },
    {
      volume: { gib: 80, type: "gp3", iops: 2_000 },
      want: ["volume data: type gp3 has 3000 iops at least, and 2000 are set"],
    },
    {
      volume: { gib: 80, type: "gp3", iops: 3_000, throughput: 1_000 },
      want: ["volume data: 1000 MiB/s need 4000 iops, and it has 3000"],
    },
    { volume: { gib: 80, type: "io2" }, want: ["volume data: a volume of type io2 needs iops"] },
    {
      volume: { gib: 80, type: "gp2", iops: 3_000 },
      want: ["volume data: a volume of type gp2 takes no iops"],
    },
  ];
  for (const { volume, want } of rows) {
    it(`${JSON.stringify(volume)}: ${want.join() || "goes together"}`, () => {
      const found = volumeFindings([create("AwsVolume", volume, "data")]);
      assert.deepEqual(
        found.map(({ message }) => message),
        want,
      );
    });
  }

  it("law: just those are refused that the simulated AWS refuses", () => {
    const volumes = fc.record(
      {
        gib: fc.integer({ min: 125, max: 1_000 }),
        type: fc.constantFrom("gp3", "gp2", "io1", "io2", "st1"),
        iops: fc.constantFrom(100, 2_999, 3_000, 6_000, 60_000, 400_000),
        throughput: fc.constantFrom(125, 751, 1_000),
      },
      { requiredKeys: ["gib", "type"] },
    );
    assertLaw(
      fc.property(volumes, (volume) => {
        const { gib, type, iops, throughput } = volume;
        let isRefused = false;
        try {
          performanceOf(gib, type, { iops, throughput });
        } catch {
          isRefused = true;
        }
        const found = volumeFindings([create("AwsVolume", volume, "data")]);
        assert.equal(found.length > 0, isRefused);
      }),
      300,
    );
  });
});
