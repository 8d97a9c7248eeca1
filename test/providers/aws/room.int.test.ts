import assert from "node:assert/strict";
import { EC2 } from "@aws-sdk/client-ec2";
import { STS } from "@aws-sdk/client-sts";
import type { AwsClients } from "../../../providers/aws/calls/clients.js";
import { launchToken } from "../../../providers/aws/kinds/choices.js";
import { awsProvider } from "../../../providers/aws/provider.js";
import { awsApiVersion } from "../../../providers/aws/specs/cluster-spec.js";
import { actOnInstance } from "../../../providers/sim/aws/instance-acts.js";
import { SimServer } from "../../../providers/sim/aws/server.js";
import { SimulatedAws } from "../../../providers/sim/aws/simulated-aws.js";
import type { MachineCalls } from "../../../src/provider/definition.js";
import { isCapstanError } from "../../../src/api/error.js";
import type { JsonObject } from "../../../src/api/json.js";
import { validate } from "../../../src/api/validate.js";
import { systemClock } from "../../../src/provider/clock.js";
import type { InfrastructureProvider, Observed } from "../../../src/provider/port.js";
import { someone, stubContext } from "./stub-clients.js";

const region = "eu-north-1";
const who = someone("AwsInstance");

describe("hosts on AWS where there is no room, and hosts that go", () => {
  let server: SimServer;
  let ec2: EC2;
  let sts: STS;
  let provider: InfrastructureProvider;
  let host: JsonObject;

  before(async () => {
    server = await SimServer.start(new SimulatedAws({ clock: systemClock }), { region });
    const credentials = { accessKeyId: "AKIDROOM", secretAccessKey: "x" };
    const place = { region, endpoint: server.endpoint, credentials, maxAttempts: 1 };
    ec2 = new EC2(place);
    sts = new STS(place);
  });
  after(async () => {
    ec2.destroy();
    sts.destroy();
    await server.stop();
  });
  beforeEach(async () => {
    server.aws.reset();
    server.aws.change({ shortages: [] });
    const refused = () => Promise.reject(new Error("nobody asks for it here"));
    const clients: AwsClients = {
      ec2: async () => ec2,
      elb: refused,
      classicElb: refused,
      sts: async () => sts,
      quotas: refused,
      secrets: refused,
      close: () => {},
    };
    provider = awsProvider(clients);
    host = await wanted();
  });

  const subnetIn = async (zone: string) => {
    const Filters = [{ Name: "availability-zone", Values: [zone] }];
    return (await ec2.describeSubnets({ Filters })).Subnets?.[0]?.SubnetId ?? "";
  };
  const wanted = async (): Promise<JsonObject> => {
    const Filters = [{ Name: "architecture", Values: ["x86_64"] }];
    const { Images = [] } = await ec2.describeImages({ Filters });
    const { SecurityGroups = [] } = await ec2.describeSecurityGroups({});
    const [a, b] = [`${region}a`, `${region}b`];
    return {
      imageId: Images[0]?.ImageId ?? "",
      instanceType: "t3.medium",
      zone: a,
      subnetId: await subnetIn(a),
      groupIds: [SecurityGroups[0]?.GroupId ?? ""],
      metadata: { httpTokens: "required", hopLimit: 1 },
      tenancy: "default",
      alternatives: [
        { instanceType: "t3.large", zone: a, subnetId: await subnetIn(a) },
        { instanceType: "t3.medium", zone: b, subnetId: await subnetIn(b) },
      ],
    };
  };
  const calls = () => {
    const handler = provider.handlers.get("AwsInstance");
    assert.ok(handler !== undefined);
    return handler;
  };
  const choices = () => [host, ...(provider.alternatives?.(host) ?? [])];
  /** As whoever makes hosts: each choice in turn, as long as there is no room. */
  const make = async (): Promise<Observed> => {
    for (const one of choices()) {
      try {
        return await calls().create(stubContext, who, one);
      } catch (error) {
        assert.ok(isCapstanError(error) && error.code === "CAPACITY" && !error.ambiguous);
      }
    }
    return assert.fail("there is room for none");
  };
  const running = async (): Promise<string> => {
    const { id } = await make();
    server.aws.advance(60_000);
    return id;
  };
  /** Hosts alone: nobody asks Elastic Load Balancing here. */
  const listed = async (): Promise<Observed[]> => {
    const all: Observed[] = [];
    const { list } = calls() as MachineCalls;
    for await (const page of list(stubContext) as AsyncIterable<readonly Observed[]>)
      all.push(...page);
    return all;
  };

  it("a host is made in another zone, and found by whom it is", async () => {
    server.aws.change({ shortages: [{ instanceType: "t3.*", zone: `${region}a` }] });
    const made = await make();
    assert.deepEqual([made.spec["instanceType"], made.spec["zone"]], ["t3.medium", `${region}b`]);
    const found = await calls().locate(stubContext, who);
    assert.ok(found.found === "one" && found.resource.id === made.id);
    const { spec } = found.resource;
    assert.deepEqual(spec["alternatives"], host["alternatives"]);
    const nearest = choices().map(
      (one) => provider.verdict("AwsInstance", spec, { ...spec, ...one }).kind,
    );
    assert.deepEqual(nearest, ["replace", "replace", "same"]);
    // The same launch again, as after a lost answer, is the same instance.
    const again = await calls().create(stubContext, who, choices()[2] ?? {});
    assert.equal(again.id, made.id);
  });

  it("each choice has a token of its own, and what is wanted that of the host", () => {
    const tokens = choices().map((one) => launchToken(who.token, one));
    assert.equal(tokens[0], who.token);
    assert.equal(new Set(tokens).size, 3);
    assert.ok(tokens.every((token) => token.startsWith(who.token) && token.length <= 64));
    const { alternatives: _, ...plain } = host;
    assert.equal(launchToken(who.token, plain), who.token);
    assert.deepEqual(provider.alternatives?.(plain), []);
  });

  it("alternatives change in place, and are gone with their tag", async () => {
    const { id } = await make();
    const one = (host["alternatives"] as JsonObject[]).slice(1);
    for (const wish of [
      { ...host, alternatives: one },
      (({ alternatives: _, ...rest }) => rest)(host),
    ]) {
      const before = await calls().find?.(stubContext, id);
      assert.ok(before?.who !== undefined);
      const current = { ...before, who };
      const verdict = provider.verdict("AwsInstance", current.spec, {
        ...current.spec,
        alternatives: wish["alternatives"] ?? [],
      });
      assert.equal(verdict.kind, "inPlace");
      await calls().update?.(stubContext, current, wish);
      const after = await calls().find?.(stubContext, id);
      assert.deepEqual(after?.spec["alternatives"], wish["alternatives"]);
    }
  });

  it("a subnet that is there leaves no choice of zones", () => {
    const kind = "AWSMachineProviderSpec";
    const spec = (alternatives: JsonObject[]) => ({
      apiVersion: awsApiVersion,
      kind,
      subnet: { id: "subnet-1" },
      alternatives,
    });
    const wrong = (alternatives: JsonObject[]) =>
      validate(provider.machineSpec.schema, spec(alternatives)).length > 0;
    assert.deepEqual(
      [wrong([{ zone: "a" }]), wrong([{ instanceType: "t3.large" }])],
      [true, false],
    );
  });

  it("credentials are those of a profile or of a web identity, not of both", () => {
    const webIdentity = { roleArn: "arn:aws:iam::123456789012:role/a", tokenFile: "token" };
    const wrong = (credentials: JsonObject) =>
      validate(provider.clusterSpec.schema, {
        apiVersion: awsApiVersion,
        kind: "AWSClusterProviderSpec",
        region,
        credentials,
      }).length > 0;
    assert.deepEqual(
      [wrong({ profile: "a", webIdentity }), wrong({ webIdentity }), wrong({})],
      [true, false, true],
    );
  });

  it("a spot instance that is taken back leaves two minutes after its notice", async () => {
    host = { ...host, spot: {} };
    const id = await running();
    assert.deepEqual(
      (await listed()).map(({ leavesAtMs }) => leavesAtMs),
      [undefined],
    );
    actOnInstance(server.aws, { id, interrupt: true });
    const [{ leavesAtMs = 0 } = assert.fail()] = await listed();
    const inMs = leavesAtMs - server.aws.clock.now();
    assert.ok(inMs > 100_000 && inMs <= 121_000, `${inMs} ms`);
  });

  it("an instance on hardware that retires leaves when EC2 says so, one that is rebooted stays", async () => {
    const id = await running();
    actOnInstance(server.aws, { id, event: { code: "system-reboot", inMs: 1_000 } });
    const leaving = async () => (await listed())[0]?.leavesAtMs;
    assert.equal(await leaving(), undefined);
    const inMs = 7_200_000;
    actOnInstance(server.aws, { id, event: { code: "instance-retirement", inMs } });
    const leftMs = ((await leaving()) ?? 0) - server.aws.clock.now();
    assert.ok(Math.abs(leftMs - inMs) < 5_000, `${leftMs} ms`);
    const asked = server.aws.ledger.after(0).map(({ action }) => action);
    assert.ok(!asked.includes("ec2:DescribeSpotInstanceRequests"), "none of them is spot");
  });
});
