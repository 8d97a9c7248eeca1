import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { EC2 } from "@aws-sdk/client-ec2";
import type { STS } from "@aws-sdk/client-sts";
import { type CapstanError, isCapstanError } from "../../../src/api/error.js";
import type { JsonObject } from "../../../src/api/json.js";
import type { CreateContext, Identity, ResourceHandler } from "../../../src/provider/port.js";
import { FakeClock } from "../../support/fake-clock.js";
import { exampleFolder, loadExample } from "./subjects.js";

// What moto cannot show: what EC2 answers and moto never does.

type Answers = Readonly<Record<string, (input: JsonObject) => object>>;

const who: Identity = {
  cluster: "default/demo",
  clusterUid: "uid",
  kind: "Ec2Host",
  name: "web-1",
  token: "0123456789abcdef0123456789abcdef",
};
const marks = { cluster: "default/demo", clusterUid: "uid", token: who.token };
const tags = Object.entries({ ...marks, kind: "Ec2Host", name: "web-1" }).map(([mark, Value]) => ({
  Key: `capstan:${mark}`,
  Value,
}));

const ctx: CreateContext = {
  clock: new FakeClock(),
  signal: new AbortController().signal,
  assertEngineAlive: () => {},
  userData: () => Promise.reject(new Error("nobody asks")),
};

function refusal(name: string): never {
  throw Object.assign(new Error("the words of EC2"), { name });
}

/** The calls on a kind, of a client that answers so, and what it was asked. */
function callsOn(kind: string, answers: Answers): { handler: ResourceHandler; asked: string[] } {
  const asked: string[] = [];
  const calls = Object.entries(answers).map(([call, answer]) => {
    const called = async (input: JsonObject) => {
      asked.push(call);
      return answer(input);
    };
    return [call, called] as const;
  });
  const client = Object.fromEntries(calls) as unknown as EC2;
  const { hosts, network } = loadExample();
  const provider = (kind === "Ec2Host" ? hosts : network)(client, {} as STS);
  const handler = provider.handlers.get(kind);
  assert.ok(handler !== undefined, kind);
  return { handler, asked };
}

async function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => assert.fail("it succeeded"),
    (error: unknown) => error,
  );
}

async function ours(work: Promise<unknown>): Promise<CapstanError> {
  const error = await errorOf(work);
  assert.ok(isCapstanError(error), String(error));
  return error;
}

const hostSpec = {
  imageId: "ami-1",
  instanceType: "t3.medium",
  subnetId: "s",
  securityGroupId: "g",
};

function instance(more: JsonObject): object {
  return {
    InstanceId: "i-1",
    Tags: tags,
    ImageId: "ami-1",
    InstanceType: "t3.medium",
    SubnetId: "s",
    SecurityGroups: [{ GroupId: "g" }],
    Placement: { AvailabilityZone: "eu-north-1a" },
    LaunchTime: new Date(0),
    ...more,
  };
}

describe("what EC2 says reaches Capstan in its own codes", () => {
  const refusals = [
    { given: "RequestLimitExceeded", code: "CLOUD_THROTTLED", retryable: true, afterMs: 2_000 },
    { given: "VcpuLimitExceeded", code: "QUOTA", retryable: false },
    { given: "UnauthorizedOperation", code: "PERMISSION", retryable: false },
    { given: "InvalidGroup.NotFound", code: "NOT_YET_USABLE", retryable: true },
    { given: "InvalidSubnetID.NotFound", code: "NOT_YET_USABLE", retryable: true },
    { given: "InvalidAMIID.NotFound", code: "INVALID_INPUT", retryable: false },
    { given: "InsufficientInstanceCapacity", code: "CAPACITY", retryable: false },
  ];
  for (const { given, code, retryable, afterMs } of refusals) {
    it(`${given} is ${code}`, async () => {
      const { handler } = callsOn("Ec2Host", { runInstances: () => refusal(given) });
      const error = await ours(handler.create(ctx, who, hostSpec));
      const { ambiguous, retryAfterMs } = error;
      assert.deepEqual(
        { code: error.code, retryable: error.retryable, ambiguous, retryAfterMs },
        { code, retryable, ambiguous: false, retryAfterMs: afterMs },
      );
      assert.match(error.message, /^\S+: the words of EC2$/);
    });
  }

  it("any other error is left as it is: it may have taken effect", async () => {
    const { handler } = callsOn("Ec2Host", { runInstances: () => refusal("InternalError") });
    assert.ok(!isCapstanError(await errorOf(handler.create(ctx, who, hostSpec))));
  });

  it("what is gone already needs no removal", async () => {
    const { handler, asked } = callsOn("Ec2Host", {
      terminateInstances: () => refusal("InvalidInstanceID.NotFound"),
    });
    const current = { id: "i-1", who, phase: "ready" as const, spec: hostSpec, status: {} };
    await handler.remove(ctx, current);
    assert.deepEqual(asked, ["terminateInstances"]);
  });

  it("what is in use is told with what uses it", async () => {
    const { handler } = callsOn("Ec2Subnet", {
      deleteSubnet: () => refusal("DependencyViolation"),
      describeNetworkInterfaces: () => ({ NetworkInterfaces: [{ NetworkInterfaceId: "eni-12" }] }),
    });
    const current = { id: "subnet-1", who, phase: "ready" as const, spec: {}, status: {} };
    const error = await ours(handler.remove(ctx, current));
    assert.equal(error.code, "IN_USE");
    assert.match(error.message, /DependencyViolation: .*\(in its way: eni-12\)$/);
  });

  it("a range that somebody else has is refused, and one that is ours is taken up", async () => {
    const subnet = {
      SubnetId: "subnet-1",
      State: "available",
      VpcId: "vpc",
      CidrBlock: "10.0.0.0/24",
    };
    const create = (Tags: object[]) =>
      callsOn("Ec2Subnet", {
        createSubnet: () => refusal("InvalidSubnet.Conflict"),
        describeSubnets: () => ({ Subnets: [{ ...subnet, Tags }] }),
      }).handler.create(ctx, who, { vpcId: "vpc", cidr: "10.0.0.0/24" });
    assert.equal((await create(tags)).id, "subnet-1");
    assert.equal((await ours(create([]))).code, "INVALID_INPUT");
  });

  it("an instance says why it does not run", async () => {
    const StateReason = { Code: "Client.VolumeLimitExceeded", Message: "the words of EC2" };
    const stopped = instance({ State: { Name: "stopped" }, StateReason });
    const { handler } = callsOn("Ec2Host", {
      describeInstances: () => ({ Reservations: [{ Instances: [stopped] }] }),
    });
    const presence = await handler.locate(ctx, who, "i-1");
    assert.ok(presence.found === "one");
    const { phase, failure } = presence.resource;
    assert.deepEqual(
      { phase, failure },
      { phase: "failed", failure: { code: "QUOTA", reason: "the words of EC2" } },
    );
  });
});

describe("another type of an instance", () => {
  const stopped = { id: "i-1", who, phase: "failed" as const, spec: hostSpec, status: {} };
  const wanted = { ...hostSpec, instanceType: "t3.large" };

  it("waits for the stop: what EC2 refuses until then is tried again", async () => {
    const { handler, asked } = callsOn("Ec2Host", {
      stopInstances: () => ({}),
      modifyInstanceAttribute: () => refusal("IncorrectInstanceState"),
    });
    const error = await ours(handler.update?.(ctx, stopped, wanted) ?? Promise.resolve());
    assert.ok(error.retryable);
    assert.deepEqual(asked, ["stopInstances", "modifyInstanceAttribute"]);
  });

  it("goes on from where it was: an instance that has it only starts", async () => {
    const { handler, asked } = callsOn("Ec2Host", { startInstances: () => ({}) });
    const current = { ...stopped, spec: wanted };
    const updated = await handler.update?.(ctx, current, wanted);
    assert.deepEqual(asked, ["startInstances"]);
    assert.equal(updated?.phase, "pending");
  });
});

describe("the example of EC2", () => {
  const lines = (file: string) =>
    readFileSync(join(exampleFolder, file), "utf8")
      .split("\n")
      .filter((line) => !/^\s*($|\/\/|\/\*\*|\*)/.test(line)).length;

  it("stays short: about 120 lines for hosts, 110 more with a subnet and a group", () => {
    const hosts = lines("ec2.js") + lines("provider.js");
    assert.ok(hosts <= 125, `${hosts} lines`);
    const network = lines("network.js");
    assert.ok(network <= 110, `${network} lines`);
  });
});
