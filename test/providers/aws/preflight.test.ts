import assert from "node:assert/strict";
import fc from "fast-check";
import { awsProvider } from "../../../providers/aws/provider.js";
import { volumeFindings } from "../../../providers/aws/volume-limits.js";
import { performanceOf } from "../../../providers/sim/aws/ec2/volume-types.js";
import type { SettingsChange } from "../../../providers/sim/aws/model/settings.js";
import type { JsonObject } from "../../../src/api/json.js";
import { unknownValue } from "../../../src/api/unknown.js";
import type { PlannedResource, PlannedStep, PreflightFinding } from "../../../src/provider/port.js";
import { assertLaw } from "../../support/laws.js";
import { SimCloud } from "./life/sim-cloud.js";

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

  /** `standing`: what the cluster has beside what the steps create. */
  async find(
    steps: readonly PlannedStep[],
    more: JsonObject = {},
    standing: readonly PlannedResource[] = [],
  ): Promise<PreflightFinding[]> {
    const { signal } = new AbortController();
    const context = { clock: this.cloud.clock, signal, assertEngineAlive: () => undefined };
    const provider = awsProvider(this.cloud.clients);
    const created = steps.map(({ kind, name, wanted = {} }) => ({ kind, name, spec: wanted }));
    const spec = { ...clusterSpec, ...more };
    const found = await provider.preflight?.(context, steps, spec, [...standing, ...created]);
    return [...(found ?? [])];
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

  it("ids that a program does not know yet are no finding", async () => {
    const account = new Account({ instanceProfiles: [] });
    const unknown = {
      vpc: { id: unknownValue },
      subnets: [{ id: unknownValue, zone: `${region}a`, public: true }],
      securityGroups: { node: unknownValue },
    };
    const inputs = { imageId: unknownValue, instanceProfile: "others", publicIp: true };
    const host = await account.host(inputs);
    assert.deepEqual(told(await account.find([host], unknown)), []);
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

  it("a public host's node ports are no concern, since they are closed to the Internet", async () => {
    const account = new Account();
    assert.deepEqual(await account.find([await account.host({ publicIp: true })]), []);
  });
});

describe("hosts that apiServer.allowedCidrs would lock out of their own API", () => {
  const only = (...allowedCidrs: string[]) => ({ apiServer: { allowedCidrs } });
  const office = "203.0.113.0/24";

  /** A subnet that is there, whose route to everywhere goes `through` something. */
  async function routed(
    { ec2 }: SimCloud,
    through?: Readonly<Record<string, string>>,
  ): Promise<string> {
    const { Vpcs: [vpc] = [] } = await ec2.describeVpcs({});
    const VpcId = vpc?.VpcId ?? "";
    const { Subnet } = await ec2.createSubnet({ VpcId, CidrBlock: "172.31.240.0/24" });
    const SubnetId = Subnet?.SubnetId ?? "";
    const { RouteTable } = await ec2.createRouteTable({ VpcId });
    const RouteTableId = RouteTable?.RouteTableId ?? "";
    await ec2.associateRouteTable({ RouteTableId, SubnetId });
    if (through !== undefined) {
      await ec2.createRoute({ RouteTableId, DestinationCidrBlock: "0.0.0.0/0", ...through });
    }
    return SubnetId;
  }

  async function natGateway({ ec2, aws }: SimCloud) {
    const { Subnets: [subnet] = [] } = await ec2.describeSubnets({});
    const { AllocationId = "", PublicIp = "" } = await ec2.allocateAddress({});
    const made = await ec2.createNatGateway({ SubnetId: subnet?.SubnetId, AllocationId });
    aws.advance(120_000);
    return { NatGatewayId: made.NatGateway?.NatGatewayId ?? "", address: PublicIp };
  }

  it("are refused behind a NAT gateway whose address no rule lets in", async () => {
    const account = new Account();
    const { NatGatewayId, address } = await natGateway(account.cloud);
    const subnetId = await routed(account.cloud, { NatGatewayId });
    const steps = [await account.host({ subnetId })];
    assert.deepEqual(told(await account.find(steps, only(office))), [
      `error INVALID_INPUT hosts in ${subnetId} reach the API servers from ${address}, which apiServer.allowedCidrs does not let in`,
    ]);
    assert.deepEqual(await account.find(steps, only(office, `${address}/32`)), []);
    const rule = {
      kind: "AwsSecurityGroupRule",
      name: `apiserver-lb-tcp-6443-from-${address}-32`,
      spec: { cidr: `${address}/32` },
    };
    assert.deepEqual(await account.find(steps, only(office), [rule]), [], "a rule of the cluster");
    for (const open of [
      only("0.0.0.0/0"),
      { apiServer: { allowedCidrs: [office], scheme: "internal" } },
    ]) {
      assert.deepEqual(await account.find(steps, open), []);
    }
    const own = { ...only(office), securityGroups: { apiServerLb: "sg-default" } };
    const others = await account.find(steps, own);
    assert.ok(!told(others).some((text) => text.includes("allowedCidrs")), "a group of the user's");
  });

  it("are refused in a subnet whose public address AWS does not tell", async () => {
    for (const isRouted of [true, false]) {
      const account = new Account();
      const GatewayId = await gatewayOf(account);
      const subnetId = await routed(account.cloud, isRouted ? { GatewayId } : undefined);
      const reason = isRouted
        ? `${subnetId} leads to ${GatewayId}, and publicIp is not set`
        : `${subnetId} has no route to the Internet`;
      const found = await account.find([await account.host({ subnetId })], only(office));
      assert.deepEqual(told(found), [
        `error INVALID_INPUT apiServer.allowedCidrs would lock hosts out of their own API: ${reason}`,
      ]);
    }
  });

  const gatewayOf = async ({ cloud }: Account) => {
    const { InternetGateways: [internet] = [] } = await cloud.ec2.describeInternetGateways({});
    return internet?.InternetGatewayId ?? "";
  };

  it("are refused in subnets that are made without a NAT gateway", async () => {
    const account = new Account();
    const steps = [create("AwsSubnet"), await account.host()];
    const found = await account.find(steps, { ...only(office), natGateways: "none" });
    assert.deepEqual(told(found).slice(-1), [
      "error INVALID_INPUT apiServer.allowedCidrs would lock web-0 out of its own API: no NAT gateway is made",
    ]);
    const isPublic = [await account.host({ publicIp: true })];
    const more = { ...only(office), natGateways: "none" };
    assert.deepEqual(await account.find(isPublic, more), [], "a rule lets its own address in");
  });

  it("are refused where they run already and the rules change, and not for another change", async () => {
    const account = new Account();
    const { NatGatewayId } = await natGateway(account.cloud);
    const subnetId = await routed(account.cloud, { NatGatewayId });
    const { kind, name, wanted = {} } = await account.host({ subnetId });
    const standing = [{ kind, name, id: "i-1", spec: wanted }];
    const isRefused = async (step: PlannedStep) =>
      (await account.find([step], only(office), standing)).length > 0;
    assert.ok(await isRefused(create("AwsSecurityGroupRule", {}, "apiserver-lb-tcp-6443-from-a")));
    assert.ok(!(await isRefused(create("AwsSecurityGroupRule", {}, "node-tcp-1-from-a"))));
    assert.ok(!(await isRefused(create("AwsVolume", { gib: 8, type: "gp3" }))));
  });

  it("are not looked for in subnets of the cluster's own, whose NAT gateways have rules", async () => {
    const account = new Account();
    const subnetId = await routed(account.cloud);
    const own = { kind: "AwsSubnet", name: "private-a", id: subnetId, spec: {} };
    const steps = [await account.host({ subnetId })];
    assert.deepEqual(await account.find(steps, only(office), [own]), []);
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
