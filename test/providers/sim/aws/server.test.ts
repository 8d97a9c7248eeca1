import assert from "node:assert/strict";
import { EC2, type RunInstancesCommandInput } from "@aws-sdk/client-ec2";
import { STS } from "@aws-sdk/client-sts";
import type { FaultOrder } from "../../../../providers/sim/core/faults.js";
import { SimServer } from "../../../../providers/sim/aws/server.js";
import { SimulatedAws } from "../../../../providers/sim/aws/simulated-aws.js";
import { systemClock } from "../../../../src/provider/clock.js";
import { until } from "../../../scenario/until.js";
import { region } from "./account.js";

describe("the simulated AWS over HTTP, with the SDK of AWS", () => {
  let server: SimServer;
  let ec2: EC2;
  let sts: STS;

  before(async () => {
    server = await SimServer.start(new SimulatedAws({ clock: systemClock }), { region });
    const credentials = { accessKeyId: "AKIDSDK", secretAccessKey: "x" };
    const settings = { region, endpoint: server.endpoint, credentials, maxAttempts: 1 };
    ec2 = new EC2(settings);
    sts = new STS(settings);
  });
  after(async () => {
    ec2.destroy();
    sts.destroy();
    await server.stop();
  });
  beforeEach(() => admin("POST", "reset"));

  const admin = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${server.endpoint}/_sim/${path}`, { method, ...sent });
    assert.equal(response.status, 200, `${method} ${path}`);
    return response.json();
  };
  const order = (fault: FaultOrder) => admin("POST", "faults", fault);
  const vpcs = async () => (await ec2.describeVpcs({})).Vpcs?.length;

  it("a cluster's network and an instance are made, seen, and taken away", async () => {
    const { Vpc } = await ec2.createVpc({ CidrBlock: "10.0.0.0/16" });
    const VpcId = Vpc?.VpcId;
    const { Subnet } = await ec2.createSubnet({ VpcId, CidrBlock: "10.0.0.0/24" });
    const { GroupId = "" } = await ec2.createSecurityGroup({
      VpcId,
      GroupName: "g",
      Description: "d",
    });
    await ec2.authorizeSecurityGroupIngress({
      GroupId,
      IpPermissions: [
        { IpProtocol: "tcp", FromPort: 1, ToPort: 2, UserIdGroupPairs: [{ GroupId }] },
      ],
    });
    const { Images = [] } = await ec2.describeImages({
      Filters: [{ Name: "architecture", Values: ["x86_64"] }],
    });
    const launch: RunInstancesCommandInput = {
      ImageId: Images[0]?.ImageId,
      InstanceType: "t3.medium",
      MinCount: 1,
      MaxCount: 1,
      SubnetId: Subnet?.SubnetId,
      SecurityGroupIds: [GroupId],
      UserData: Buffer.from("#!/bin/sh\n").toString("base64"),
      TagSpecifications: [{ ResourceType: "instance", Tags: [{ Key: "Name", Value: `<&">é` }] }],
    };
    const { Instances = [] } = await ec2.runInstances(launch);
    const InstanceIds = Instances.flatMap(({ InstanceId }) => InstanceId ?? []);
    await admin("POST", "advance", { ms: 60_000 });
    const { Reservations = [] } = await ec2.describeInstances({ InstanceIds });
    const instance = Reservations[0]?.Instances?.[0];
    assert.equal(instance?.State?.Name, "running");
    assert.deepEqual(instance.Tags, [{ Key: "Name", Value: `<&">é` }]);
    assert.ok(instance.LaunchTime instanceof Date);
    await assert.rejects(ec2.deleteSecurityGroup({ GroupId }), { name: "DependencyViolation" });
    await ec2.terminateInstances({ InstanceIds });
    await admin("POST", "advance", { ms: 60_000 });
    await ec2.deleteSecurityGroup({ GroupId });
    await ec2.deleteSubnet({ SubnetId: Subnet?.SubnetId });
    await ec2.deleteVpc({ VpcId });
  });

  it("the SDK knows errors by name, status and request id", async () => {
    await assert.rejects(ec2.describeVpcs({ VpcIds: ["vpc-00000000"] }), (error) => {
      const { name, $metadata } = error as {
        name: string;
        $metadata: { httpStatusCode: number; requestId: string };
      };
      assert.deepEqual([name, $metadata.httpStatusCode], ["InvalidVpcID.NotFound", 400]);
      assert.match($metadata.requestId, /^[0-9a-f-]{36}$/);
      return true;
    });
  });

  it("who calls is told by the signature alone", async () => {
    assert.equal((await sts.getCallerIdentity({})).Account, "123456789012");
    const unsigned = await fetch(server.endpoint, { method: "POST", body: "Action=DescribeVpcs" });
    assert.equal(unsigned.status, 403);
    assert.match(await unsigned.text(), /MissingAuthenticationToken/);
  });

  it("an answer that is lost leaves the effect, a request that is cut none", async () => {
    await order({ action: "CreateVpc", effect: { kind: "cut", when: "after" } });
    await order({ action: "CreateVpc", skip: 1, effect: { kind: "cut", when: "before" } });
    const before = (await vpcs()) ?? 0;
    for (const range of ["10.0.0.0/16", "10.1.0.0/16"]) {
      await assert.rejects(ec2.createVpc({ CidrBlock: range }), { code: "ECONNRESET" });
    }
    assert.equal(await vpcs(), before + 1);
  });

  it("a client may die while its n-th change is held, and the change comes to its end", async () => {
    await order({ action: "mutating", skip: 1, effect: { kind: "hold", when: "before" } });
    await ec2.createInternetGateway({});
    const stop = new AbortController();
    const before = await vpcs();
    const going = ec2.createVpc({ CidrBlock: "10.0.0.0/16" }, { abortSignal: stop.signal });
    const lost = assert.rejects(going, { name: "AbortError" });
    await until(
      "the call is held",
      async () => ((await admin("GET", "held")) as unknown[]).length === 1,
    );
    stop.abort();
    await lost;
    assert.equal(await vpcs(), before);
    assert.deepEqual(await admin("POST", "release", {}), { released: 1 });
    assert.equal(await vpcs(), (before ?? 0) + 1);
  });

  it("its own routes tell and change what AWS has no calls for", async () => {
    await ec2.describeVpcs({});
    const ledger = (await admin("GET", "ledger?after=0")) as {
      action: string;
      accessKey: string;
    }[];
    assert.deepEqual(
      ledger.map(({ action, accessKey }) => [action, accessKey]),
      [["ec2:DescribeVpcs", "AKIDSDK"]],
    );
    const state = (await admin("GET", "state")) as Record<string, { vpcs: unknown[] }>;
    assert.equal(state[`123456789012/${region}`]?.vpcs.length, 1);
    const settings = (await admin("POST", "settings", { quotas: { vpcs: 1 } })) as {
      quotas: { vpcs: number };
    };
    assert.equal(settings.quotas.vpcs, 1);
    await assert.rejects(ec2.createVpc({ CidrBlock: "10.0.0.0/16" }), { name: "VpcLimitExceeded" });
    await admin("POST", "settings", { quotas: { vpcs: 5 } });
    const { nowMs } = (await admin("GET", "time")) as { nowMs: number };
    const later = (await admin("POST", "advance", { ms: 1_000 })) as { nowMs: number };
    assert.ok(later.nowMs >= nowMs + 1_000);
    await order({ action: "RunInstances", effect: { kind: "cut", when: "after" } });
    assert.equal(((await admin("GET", "faults")) as unknown[]).length, 1);
    await admin("DELETE", "faults");
    assert.deepEqual(await admin("GET", "faults"), []);
  });

  it("an own route that there is not, and a body that is none, are told", async () => {
    const unknown = await fetch(`${server.endpoint}/_sim/nothing`);
    assert.equal(unknown.status, 404);
    assert.match(await unknown.text(), /GET \/_sim\/ledger/);
    const broken = await fetch(`${server.endpoint}/_sim/advance`, { method: "POST", body: "{" });
    assert.equal(broken.status, 400);
  });

  const orders: readonly (readonly [string, string, unknown, RegExp])[] = [
    [
      "a fault of no action",
      "faults",
      { action: "RunInstance", effect: { kind: "cut", when: "after" } },
      /no action/,
    ],
    [
      "a fault of no kind",
      "faults",
      { action: "*", effect: { kind: "explode" } },
      /no effect explode: refuse, cut/,
    ],
    [
      "a cut at no moment",
      "faults",
      { action: "*", effect: { kind: "cut" } },
      /no when undefined: before, after/,
    ],
    [
      "a fault with a field too many",
      "faults",
      { action: "*", effect: { kind: "cut", when: "after" }, n: 1 },
      /no field of a fault n/,
    ],
    [
      "a quota that there is not",
      "settings",
      { quotas: { vpc: 1 } },
      /no field of the quotas vpc: vpcs/,
    ],
    ["a setting that there is not", "settings", { lag: 1 }, /no field of the settings lag/],
    ["an advance back", "advance", { ms: -1 }, /not below 0/],
    ["an act on no instance", "instance", { console: "x" }, /names an instance/],
  ];
  for (const [name, route, body, want] of orders) {
    it(`${name} is refused, as it would have no effect`, async () => {
      const sent = { method: "POST", body: JSON.stringify(body) };
      const response = await fetch(`${server.endpoint}/_sim/${route}`, sent);
      assert.equal(response.status, 400);
      assert.match(((await response.json()) as { error: string }).error, want);
    });
  }

  it("a port that is taken is told", async () => {
    const port = Number(new URL(server.endpoint).port);
    const second = SimServer.start(new SimulatedAws({ clock: systemClock }), { region, port });
    await assert.rejects(second, { code: "EADDRINUSE" });
  });
});
