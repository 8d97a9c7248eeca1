import assert from "node:assert/strict";
import { zonesOf } from "../../../providers/sim/aws/ec2/zones.js";
import { isCapstanError } from "../../../src/api/error.js";
import type { JsonObject } from "../../../src/api/json.js";
import { type AskedQuestion, questionsOf } from "../../../src/compile/lookups.js";
import { readDesired } from "../../../src/manifest/desired.js";
import type { PlannedStep } from "../../../src/provider/port.js";
import { clusterNetwork, type Manifest, textOf } from "../../support/manifests.js";
import {
  markTagsOf,
  refusal,
  someone,
  stubbed,
  type StubAnswers,
  stubContext as ctx,
} from "./stub-clients.js";

const account = { getCallerIdentity: () => ({ Account: "123" }) };

async function resolved(
  answers: StubAnswers,
  providerSpec: JsonObject,
  clusterSpec: JsonObject = {},
) {
  const { provider, asked } = stubbed({ ...account, ...answers });
  const question = { kind: "machine", providerSpec, clusterSpec } as const;
  const answer = await provider.resolve?.(ctx, question);
  return { answer, asked };
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    assert.ok(isCapstanError(error), String(error));
    return error.code;
  }
  return assert.fail("it succeeded");
}

describe("what AWS is asked before anything is compiled", () => {
  const types = (architecture: string) => ({
    describeInstanceTypes: () => ({
      InstanceTypes: [{ ProcessorInfo: { SupportedArchitectures: [architecture] } }],
    }),
  });

  it("the newest Ubuntu for the architecture of the instance type", async () => {
    const { answer, asked } = await resolved(
      {
        ...types("arm64"),
        describeImages: () => ({
          Images: [
            { ImageId: "ami-old", CreationDate: "2026-01-01" },
            { ImageId: "ami-new", CreationDate: "2026-02-01" },
          ],
        }),
      },
      { instanceType: "t4g.medium" },
    );
    assert.deepEqual(answer, { imageId: "ami-new" });
    const input = asked.find(({ call }) => call === "describeImages")?.input;
    assert.match(JSON.stringify(input), /noble-24\.04-arm64-server/);
    assert.deepEqual(input?.["Owners"], ["099720109477"]);
  });

  it("a subnet and groups by filters, and the zone that the subnet is in", async () => {
    const filters = [{ name: "tag:Name", values: ["theirs"] }];
    const { answer } = await resolved(
      {
        describeSubnets: () => ({
          Subnets: [{ SubnetId: "subnet-1", AvailabilityZone: "eu-north-1c" }],
        }),
        describeSecurityGroups: () => ({ SecurityGroups: [{ GroupId: "sg-1" }] }),
      },
      {
        image: { id: "ami-1" },
        subnet: { filters },
        securityGroups: [{ id: "sg-0" }, { filters }],
      },
    );
    assert.deepEqual(answer, { subnetId: "subnet-1", zone: "eu-north-1c", groupIds: ["sg-1"] });
  });

  it("is refused where filters find none or several, and in another region", async () => {
    const filters = [{ name: "tag:Name", values: ["theirs"] }];
    const machine = { image: { id: "ami-1" }, subnet: { filters } };
    assert.equal(await codeOf(resolved({ describeSubnets: () => ({}) }, machine)), "NOT_FOUND");
    const two = { Subnets: [{ SubnetId: "subnet-1" }, { SubnetId: "subnet-2" }] };
    assert.equal(await codeOf(resolved({ describeSubnets: () => two }, machine)), "SEVERAL_FOUND");
    const elsewhere = resolved({}, { image: { id: "ami-1" } }, { region: "eu-west-1" });
    assert.equal(await codeOf(elsewhere), "WRONG_CLOUD");
  });
});

describe("what AWS is asked for a Cluster", () => {
  const filters = [{ name: "tag:Name", values: ["theirs"] }];
  const vpc = { describeVpcs: () => ({ Vpcs: [{ VpcId: "vpc-1" }] }) };

  async function foundFor(answers: StubAnswers, clusterSpec: JsonObject) {
    const { provider, asked } = stubbed({ ...account, ...answers });
    const question = { kind: "cluster", clusterSpec } as const;
    const answer = await provider.resolve?.(ctx, question);
    return { answer, asked };
  }

  it("nothing where it names no filters", async () => {
    const clusterSpec = {
      vpc: { id: "vpc-1" },
      subnets: [{ id: "subnet-1", zone: "eu-north-1a" }],
      securityGroups: { node: "sg-1" },
    };
    const { answer, asked } = await foundFor({}, clusterSpec);
    assert.deepEqual(answer, {});
    assert.deepEqual(
      asked.filter(({ call }) => call !== "getCallerIdentity"),
      [],
    );
  });

  it("the zones that its region has, where it makes subnets and names none", async () => {
    const rows = [
      ["ap-northeast-1", "acd"],
      ["ca-central-1", "abd"],
      ["us-west-1", "ac"],
      ["cn-north-1", "abd"],
      ["us-east-1", "abc"],
      ["eu-central-1", "abc"],
    ] as const;
    for (const [region, letters] of rows) {
      const there = zonesOf(region).map((ZoneName) => ({ ZoneName }));
      const clusterSpec = { region: "eu-north-1" };
      const { answer = {} } = await foundFor(
        { describeAvailabilityZones: () => ({ AvailabilityZones: there.toReversed() }) },
        clusterSpec,
      );
      const zones = Array.from(letters).map((letter) => `${region}${letter}`);
      assert.deepEqual(answer, { zones });
      const { provider } = stubbed({});
      assert.deepEqual(provider.failureDomains?.of(clusterSpec, answer), zones);
      const cluster = { spec: { clusterNetwork: clusterNetwork() } } as never;
      const { infrastructure } = provider.compile(cluster, clusterSpec, [], answer);
      const made = infrastructure.flatMap(({ kind, spec }) =>
        kind === "AwsSubnet" ? [String(spec["zone"])] : [],
      );
      assert.deepEqual([...new Set(made)], zones);
    }
  });

  it("its VPC, then subnets and groups in it, each subnet in its zone", async () => {
    const { answer, asked } = await foundFor(
      {
        ...vpc,
        describeSubnets: () => ({ Subnets: [{ SubnetId: "subnet-1" }] }),
        describeSecurityGroups: () => ({ SecurityGroups: [{ GroupId: "sg-1" }] }),
      },
      {
        vpc: { filters },
        subnets: [
          { id: "subnet-0", zone: "eu-north-1a" },
          { filters, zone: "eu-north-1b" },
        ],
        securityGroups: { node: { filters }, lb: "sg-2" },
      },
    );
    assert.deepEqual(answer, {
      vpcId: "vpc-1",
      subnetIds: ["subnet-1"],
      groupIds: { node: "sg-1" },
    });
    const inputs = Object.fromEntries(asked.map(({ call, input }) => [call, input["Filters"]]));
    const own = { Name: "tag:Name", Values: ["theirs"] };
    const inVpc = { Name: "vpc-id", Values: ["vpc-1"] };
    const inZone = { Name: "availability-zone", Values: ["eu-north-1b"] };
    assert.deepEqual(inputs["describeSubnets"], [own, inZone, inVpc]);
    assert.deepEqual(inputs["describeSecurityGroups"], [own, inVpc]);
  });

  const subnet = (id: string, zone: string) => ({
    SubnetId: id,
    AvailabilityZone: zone,
    VpcId: "vpc-1",
  });
  const table = (gateway: object, association: object) => ({
    VpcId: "vpc-1",
    Routes: [{ GatewayId: "local" }, gateway],
    Associations: [association],
  });

  it("all subnets of its VPC, whose routes tell which are public", async () => {
    const { answer, asked } = await foundFor(
      {
        describeSubnets: () => ({
          Subnets: [
            subnet("subnet-3", "eu-north-1b"),
            subnet("subnet-2", "eu-north-1a"),
            subnet("subnet-1", "eu-north-1a"),
          ],
        }),
        describeRouteTables: () => ({
          RouteTables: [
            table({ GatewayId: "igw-1" }, { Main: true }),
            table({ NatGatewayId: "nat-1" }, { SubnetId: "subnet-2", Main: false }),
            table({ GatewayId: "igw-1" }, { SubnetId: "subnet-3", Main: false }),
          ],
        }),
      },
      { vpc: { id: "vpc-1" }, subnetFilters: filters },
    );
    assert.deepEqual(answer, {
      subnets: [
        { id: "subnet-1", zone: "eu-north-1a", public: true },
        { id: "subnet-2", zone: "eu-north-1a", public: false },
        { id: "subnet-3", zone: "eu-north-1b", public: true },
      ],
    });
    assert.deepEqual(asked.at(-1)?.input["Filters"], [{ Name: "vpc-id", Values: ["vpc-1"] }]);
  });

  const nats = {
    describeNatGateways: () => ({
      NatGateways: [
        { NatGatewayId: "nat-2", NatGatewayAddresses: [{ PublicIp: "198.51.100.9" }] },
        { NatGatewayId: "nat-1", NatGatewayAddresses: [{ PublicIp: "198.51.100.7" }, {}] },
        {
          NatGatewayId: "nat-3",
          NatGatewayAddresses: [{ PublicIp: "198.51.100.8" }],
          Tags: markTagsOf(someone("AwsNatGateway")),
        },
      ],
    }),
  };

  it("the addresses of NAT gateways of a VPC that is there, where allowedCidrs needs them", async () => {
    const apiServer = { allowedCidrs: ["203.0.113.0/24"] };
    const subnets = [{ id: "subnet-1", zone: "eu-north-1a" }];
    const there = { vpc: { filters }, subnets, apiServer };
    const { answer, asked } = await foundFor({ ...vpc, ...nats }, there);
    assert.deepEqual(answer, {
      vpcId: "vpc-1",
      egressRanges: ["198.51.100.7/32", "198.51.100.9/32"],
    });
    assert.deepEqual(asked.at(-1)?.input["Filter"], [
      { Name: "vpc-id", Values: ["vpc-1"] },
      { Name: "state", Values: ["available"] },
    ]);
    const internal = {
      ...there,
      vpc: { id: "vpc-1" },
      apiServer: { ...apiServer, scheme: "internal" },
    };
    assert.deepEqual((await foundFor(nats, internal)).answer, {});
    assert.deepEqual(
      (await foundFor(nats, { subnets, apiServer })).answer,
      {},
      "a VPC that is made",
    );
  });

  it("is refused where filters find no subnet, or several groups", async () => {
    const inVpc = { vpc: { id: "vpc-1" } };
    const none = foundFor({ describeSubnets: () => ({}) }, { ...inVpc, subnetFilters: filters });
    assert.equal(await codeOf(none), "NOT_FOUND");
    const two = { SecurityGroups: [{ GroupId: "sg-1" }, { GroupId: "sg-2" }] };
    const several = foundFor(
      { describeSecurityGroups: () => two },
      { ...inVpc, securityGroups: { node: { filters } } },
    );
    assert.equal(await codeOf(several), "SEVERAL_FOUND");
  });

  it("of its machines nothing anew when its subnets change", () => {
    const { provider } = stubbed({});
    const questionsWith = (id: string) => {
      const { clusters, diagnostics } = readDesired(
        [{ file: "a.yaml", text: textOf(manifestsWith(id)) }],
        [provider],
      );
      assert.deepEqual(diagnostics, []);
      return questionsOf(provider, clusters[0]!);
    };
    const keysOf = (asked: readonly AskedQuestion[], kind: string) =>
      asked.filter(({ question }) => question.kind === kind).map(({ key }) => key);
    const [before, after] = [questionsWith("subnet-1"), questionsWith("subnet-2")];
    assert.equal(keysOf(before, "machine").length, 1);
    assert.deepEqual(keysOf(after, "machine"), keysOf(before, "machine"));
    assert.notDeepEqual(keysOf(after, "cluster"), keysOf(before, "cluster"));
  });
});

/** A Cluster with one subnet, and a Machine. */
function manifestsWith(subnetId: string): Manifest[] {
  const apiVersion = "awsprovider.k8s.io/v1alpha2";
  const region = "eu-north-1";
  const subnets = [{ id: subnetId, zone: "eu-north-1a" }];
  const cluster = { apiVersion, kind: "AWSClusterProviderSpec", region, subnets };
  const machine = { apiVersion, kind: "AWSMachineProviderSpec" };
  return [
    {
      apiVersion: "cluster.k8s.io/v1alpha1",
      kind: "Cluster",
      metadata: { name: "demo" },
      spec: { clusterNetwork: clusterNetwork(), providerSpec: { value: cluster } },
    },
    {
      apiVersion: "cluster.k8s.io/v1alpha1",
      kind: "Machine",
      metadata: { name: "web", labels: { "cluster.k8s.io/cluster-name": "demo" } },
      spec: { versions: { kubelet: "1.34.2" }, providerSpec: { value: machine } },
    },
  ];
}

describe("what AWS tells before the first change", () => {
  const create = (kind: string, wanted: JsonObject = {}): PlannedStep => ({
    does: "create",
    kind,
    name: "one",
    wanted,
  });

  it("addresses that are not left, and types that a zone does not have", async () => {
    const { provider } = stubbed({
      ...vcpus({ limit: 384 }),
      describeAccountAttributes: () => ({
        AccountAttributes: [
          {
            AttributeName: "vpc-max-elastic-ips",
            AttributeValues: [{ AttributeValue: "5" }],
          },
        ],
      }),
      describeAddresses: () => ({ Addresses: [{}, {}, {}, {}] }),
      describeInstanceTypeOfferings: () => ({
        InstanceTypeOfferings: [{ Location: "eu-north-1a" }],
      }),
    });
    const found = await provider.preflight?.(
      ctx,
      [
        create("AwsElasticIp"),
        create("AwsElasticIp"),
        create("AwsInstance", { instanceType: "p5.48xlarge", zone: "eu-north-1b" }),
      ],
      { hostSecrets: "userData" },
      [],
    );
    assert.deepEqual(
      found?.map(({ code, message }) => [code, message]),
      [
        ["QUOTA", "2 elastic addresses are needed for NAT gateways, 1 of 5 are left"],
        ["INVALID_INPUT", "instance type p5.48xlarge is not offered in eu-north-1b"],
      ],
    );
  });

  const running = [
    { InstanceType: "m5.large" },
    { InstanceType: "m5.large", InstanceLifecycle: "spot" },
    { InstanceType: "p5.48xlarge" },
  ];
  const vcpus = ({ limit }: { readonly limit: number }): StubAnswers => ({
    describeInstances: () => ({ Reservations: [{ Instances: running }] }),
    describeInstanceTypes: () => ({
      InstanceTypes: [
        { InstanceType: "m5.large", VCpuInfo: { DefaultVCpus: 2 } },
        { InstanceType: "t3.medium", VCpuInfo: { DefaultVCpus: 2 } },
        { InstanceType: "p5.48xlarge", VCpuInfo: { DefaultVCpus: 192 } },
      ],
    }),
    describeInstanceTypeOfferings: () => ({
      InstanceTypeOfferings: [{ Location: "eu-north-1a" }, { Location: "eu-north-1b" }],
    }),
    getServiceQuota: ({ QuotaCode }) => ({
      Quota: { QuotaName: `quota ${String(QuotaCode)}`, Value: limit },
    }),
  });
  const host = (instanceType: string, more = {}) =>
    create("AwsInstance", { instanceType, zone: "eu-north-1a", ...more });
  /** Of its Cluster: nothing is asked of Secrets Manager. */
  const withoutStore = { hostSecrets: "userData" };
  const onVcpus = async (limit: number, ...steps: readonly PlannedStep[]) => {
    const { provider, asked } = stubbed(vcpus({ limit }));
    const found = (await provider.preflight?.(ctx, steps, withoutStore, [])) ?? [];
    return { found, codes: asked.flatMap(({ input }) => input["QuotaCode"] ?? []) };
  };

  it("vCPUs that are left, of what runs in the same families and in the same way", async () => {
    const two = [host("m5.large"), host("t3.medium")];
    assert.deepEqual((await onVcpus(6, ...two)).found, [], "2 run, 4 are needed");
    const { found, codes } = await onVcpus(5, ...two);
    assert.deepEqual(found, [
      {
        code: "QUOTA",
        message: "4 vCPUs are needed for instances, 3 of 5 are left (quota L-1216C47A)",
        hint: "ask for more in the console of Service Quotas (L-1216C47A), or name a smaller instanceType",
      },
    ]);
    assert.deepEqual(codes, ["L-1216C47A"], "each quota is asked for once");
    const other = await onVcpus(193, host("t3.medium", { spot: {} }), host("p5.48xlarge"));
    assert.deepEqual(other.codes, ["L-34B43A08", "L-417A185B"]);
    assert.match(other.found[0]?.message ?? "", /192 vCPUs are needed for instances, 1 of 193/);
  });

  it("too few vCPUs are a warning where instances go as well", async () => {
    const leaves: PlannedStep = { does: "delete", kind: "AwsInstance", name: "old" };
    const { found } = await onVcpus(3, host("m5.large"), leaves);
    assert.deepEqual(
      found.map(({ code, severity }) => [code, severity]),
      [["QUOTA", "warning"]],
    );
  });

  it("what may not be asked, or is not known, is a note with the statement to add", async () => {
    const { provider } = stubbed({
      ...vcpus({ limit: 1 }),
      getServiceQuota: () => {
        throw refusal("AccessDeniedException", "no");
      },
    });
    const [note, ...others] =
      (await provider.preflight?.(ctx, [host("m5.large")], withoutStore, [])) ?? [];
    assert.deepEqual([note?.code, note?.severity, others], ["PERMISSION", "warning", []]);
    assert.match(note?.hint ?? "", /"Action":"servicequotas:GetServiceQuota"/);
    const unknown = await onVcpus(1, host("u7-quantum.large"));
    assert.deepEqual(unknown, { found: [], codes: [] });
  });

  it("nothing of a plan that makes neither", async () => {
    const { provider, asked } = stubbed({});
    assert.deepEqual(await provider.preflight?.(ctx, [create("AwsSubnet")], {}, []), []);
    assert.deepEqual(asked, []);
  });
});

describe("which cloud it is", () => {
  it("is asked once: account, region, and an endpoint of one's own", async () => {
    const { provider, asked } = stubbed(account);
    const first = await provider.identity?.(ctx);
    assert.deepEqual(first, { account: "123", region: "eu-north-1" });
    assert.deepEqual(await provider.identity?.(ctx), first);
    assert.equal(asked.length, 1);
  });
});
