import assert from "node:assert/strict";
import { CapstanError, isCapstanError } from "../../../src/api/error.js";
import type { JsonObject } from "../../../src/api/json.js";
import { translated } from "../../../providers/aws/calls/errors.js";
import type { ResourceHandler } from "../../../src/provider/port.js";
import {
  markTagsOf,
  refusal,
  someone,
  type StubAnswers,
  stubbed,
  stubContext as ctx,
} from "./stub-clients.js";

// What moto cannot show: what AWS answers and moto never does.

function handlerOf(kind: string, answers: StubAnswers) {
  const { provider, asked } = stubbed(answers);
  const handler = provider.handlers.get(kind);
  assert.ok(handler !== undefined);
  return { handler, calls: () => asked.map(({ call }) => call), asked };
}

async function failure(work: Promise<unknown> | undefined): Promise<CapstanError> {
  const error = await (work ?? Promise.resolve()).then(
    () => assert.fail("it succeeded"),
    (thrown: unknown) => thrown,
  );
  assert.ok(isCapstanError(error), String(error));
  return error;
}

const throwing = (name: string, message?: string) => () => {
  throw refusal(name, message);
};

const vpcSpec = { cidr: "10.0.0.0/16", dnsHostnames: true, dnsSupport: true };
const hostInputs = {
  imageId: "ami-1",
  instanceType: "t3.medium",
  subnetId: "subnet-1",
  groupIds: ["sg-1", "sg-2"],
  metadata: { httpTokens: "required", hopLimit: 1 },
  tenancy: "default",
  rootVolume: { gib: 20, type: "gp3", encrypted: true },
};

describe("what AWS says reaches Capstan in its own codes", () => {
  const refusals = [
    { given: "RequestLimitExceeded", code: "CLOUD_THROTTLED", retryable: true, afterMs: 2_000 },
    { given: "ThrottlingException", code: "CLOUD_THROTTLED", retryable: true, afterMs: 2_000 },
    {
      given: "DependencyThrottleException",
      code: "CLOUD_THROTTLED",
      retryable: true,
      afterMs: 2_000,
    },
    { given: "VpcLimitExceeded", code: "QUOTA", retryable: false },
    { given: "TooManyLoadBalancersException", code: "QUOTA", retryable: false },
    { given: "UnauthorizedOperation", code: "PERMISSION", retryable: false },
    { given: "ExpiredToken", code: "PERMISSION", retryable: false },
    { given: "CredentialsProviderError", code: "PERMISSION", retryable: false },
    { given: "InvalidVpcID.NotFound", code: "NOT_YET_USABLE", retryable: true },
    { given: "TargetGroupNotFoundException", code: "NOT_YET_USABLE", retryable: true },
    { given: "IncorrectState", code: "NOT_YET_USABLE", retryable: true },
    { given: "InvalidParameterValue", code: "INVALID_INPUT", retryable: false },
    { given: "InsufficientInstanceCapacity", code: "CAPACITY", retryable: false },
  ];
  for (const { given, code, retryable, afterMs } of refusals) {
    it(`${given} is ${code}, and nothing has happened`, async () => {
      const { handler } = handlerOf("AwsVpc", {
        describeVpcs: () => ({}),
        createVpc: throwing(given),
      });
      const error = await failure(handler.create(ctx, someone("AwsVpc"), vpcSpec));
      const { retryAfterMs, ambiguous } = error;
      assert.deepEqual(
        { code: error.code, retryable: error.retryable, ambiguous, retryAfterMs },
        { code, retryable, ambiguous: false, retryAfterMs: afterMs },
      );
      assert.match(error.message, /ec2:CreateVpc/);
    });
  }

  const lost = ["InternalError", "ServiceUnavailable", "TimeoutError", "ECONNRESET"];
  for (const given of lost) {
    it(`${given} after a change is ambiguous, and after a look it is asked again`, async () => {
      const { handler } = handlerOf("AwsVpc", {
        describeVpcs: () => ({}),
        createVpc: throwing(given),
      });
      const made = await failure(handler.create(ctx, someone("AwsVpc"), vpcSpec));
      assert.deepEqual([made.ambiguous, made.retryable], [true, false]);
      const blind = handlerOf("AwsVpc", { describeVpcs: throwing(given) });
      const looked = await failure(blind.handler.locate(ctx, someone("AwsVpc")));
      assert.deepEqual([looked.ambiguous, looked.retryable], [false, true]);
    });
  }

  it("an address that a NAT gateway still has is in use, however EC2 says so", () => {
    const told = (action: string) =>
      translated(Object.assign(new Error("in use"), { name: "AuthFailure" }), {
        action,
        changes: true,
      });
    const codes = ["ec2:ReleaseAddress", "ec2:CreateVpc"].map((action) => {
      const error = told(action);
      return isCapstanError(error) ? error.code : "";
    });
    assert.deepEqual(codes, ["IN_USE", "PERMISSION"]);
  });

  it("missing rights name the action, the resource and the statement to add", async () => {
    const words =
      "You are not authorized to perform this operation. User: arn:aws:iam::1:user/a is not authorized to perform: ec2:CreateVpc on resource: arn:aws:ec2:eu-north-1:1:vpc/* because no identity-based policy allows the ec2:CreateVpc action. Encoded authorization failure message: abcdef";
    const { handler } = handlerOf("AwsVpc", {
      describeVpcs: () => ({}),
      createVpc: throwing("UnauthorizedOperation", words),
    });
    const { message, hint } = await failure(handler.create(ctx, someone("AwsVpc"), vpcSpec));
    assert.match(message, /^may not call ec2:CreateVpc on arn:aws:ec2:eu-north-1:1:vpc\/\*: /);
    assert.ok(!message.includes("abcdef"), "what is for machines is left out");
    assert.match(
      hint ?? "",
      /\{"Effect":"Allow","Action":"ec2:CreateVpc","Resource":"arn:aws:ec2:eu-north-1:1:vpc\/\*"\}$/,
    );
  });

  it("a deletion that is refused names what stands in its way", async () => {
    const { handler } = handlerOf("AwsSecurityGroup", {
      deleteSecurityGroup: throwing("DependencyViolation"),
      describeNetworkInterfaces: () => ({
        NetworkInterfaces: [{ NetworkInterfaceId: "eni-12", Description: "ELB net/web/1" }],
      }),
      describeSecurityGroups: () => ({
        SecurityGroups: [{ GroupId: "sg-9", GroupName: "theirs" }],
      }),
    });
    const who = someone("AwsSecurityGroup");
    const current = { id: "sg-1", who, phase: "ready" as const, spec: {}, status: {} };
    const { code, message } = await failure(handler.remove(ctx, current));
    assert.equal(code, "IN_USE");
    assert.match(message, /\(in its way: eni-12 \(ELB net\/web\/1\), rules of sg-9 \(theirs\)\)$/);
  });

  const gone = [
    { kind: "AwsVpc", call: "deleteVpc", name: "InvalidVpcID.NotFound" },
    { kind: "AwsNatGateway", call: "deleteNatGateway", name: "NatGatewayNotFound" },
    { kind: "AwsLoadBalancer", call: "deleteLoadBalancer", name: "LoadBalancerNotFoundException" },
    { kind: "AwsInstance", call: "terminateInstances", name: "InvalidInstanceID.NotFound" },
  ];
  for (const { kind, call, name } of gone) {
    it(`${name}: what is gone already needs no removal`, async () => {
      const { handler, calls } = handlerOf(kind, { [call]: throwing(name) });
      const current = {
        id: "x",
        who: someone(kind),
        phase: "ready" as const,
        spec: {},
        status: {},
      };
      await handler.remove(ctx, current);
      assert.deepEqual(calls(), [call]);
    });
  }
});

describe("an instance", () => {
  const launched = {
    InstanceId: "i-1",
    State: { Name: "pending" },
    Placement: { AvailabilityZone: "eu-north-1a", Tenancy: "default" },
  };

  async function launch(spec: JsonObject) {
    const { handler, asked } = handlerOf("AwsInstance", {
      describeImages: () => ({ Images: [{ RootDeviceName: "/dev/xvda" }] }),
      runInstances: () => ({ Instances: [launched] }),
    });
    const made = await handler.create(ctx, someone("AwsInstance", "web-1"), spec);
    const input = asked.find(({ call }) => call === "runInstances")?.input ?? {};
    return { made, input };
  }

  it("that waits for its user data asks EC2 nothing, and each image is asked for once", async () => {
    const { handler, calls } = handlerOf("AwsInstance", {
      describeImages: () => ({ Images: [{ RootDeviceName: "/dev/xvda" }] }),
      runInstances: () => ({ Instances: [{ InstanceId: "i-1", State: { Name: "pending" } }] }),
    });
    const waiting = {
      ...ctx,
      userData: () => Promise.reject(new CapstanError(notYet)),
    };
    const notYet = {
      code: "NOT_YET_USABLE",
      source: "engine",
      message: "the first member does not serve yet",
    } as const;
    for (const _ of [1, 2, 3]) {
      await failure(handler.create(waiting, someone("AwsInstance", "web-0"), hostInputs));
    }
    assert.deepEqual(calls(), []);
    for (const name of ["web-0", "web-1", "web-2"]) {
      await handler.create(ctx, someone("AwsInstance", name), hostInputs);
    }
    assert.equal(calls().filter((call) => call === "describeImages").length, 1);
  });

  it("is launched with token, marks, user data, an encrypted root and IMDSv2", async () => {
    const { made, input } = await launch(hostInputs);
    assert.equal(input["ClientToken"], someone("AwsInstance").token);
    assert.equal(input["UserData"], Buffer.from("packed").toString("base64"));
    assert.deepEqual(input["MetadataOptions"], {
      HttpTokens: "required",
      HttpPutResponseHopLimit: 1,
    });
    assert.deepEqual(input["BlockDeviceMappings"], [
      {
        DeviceName: "/dev/xvda",
        Ebs: { VolumeSize: 20, VolumeType: "gp3", Encrypted: true, DeleteOnTermination: true },
      },
    ]);
    const [own, volume] = input["TagSpecifications"] as {
      ResourceType: string;
      Tags: { Key: string; Value: string }[];
    }[];
    const tags = Object.fromEntries((own?.Tags ?? []).map(({ Key, Value }) => [Key, Value]));
    assert.equal(tags["kubernetes.io/cluster/demo"], "owned");
    assert.equal(tags["Name"], "demo-web-1");
    for (const { Key, Value } of markTagsOf(someone("AwsInstance", "web-1"))) {
      assert.equal(tags[Key], Value);
    }
    assert.ok(
      volume?.Tags.every(({ Key }) => !Key.startsWith("capstan:")),
      "the root volume is no resource of ours",
    );
    assert.equal(made.phase, "pending");
    assert.ok(!JSON.stringify(made).includes("packed"), "user data stands nowhere");
  });

  it("is spot, placed and public where it is asked to be", async () => {
    const more = { spot: { maxPrice: "0.05" }, placementGroup: "near", publicIp: true };
    const { input } = await launch({ ...hostInputs, ...more });
    assert.deepEqual(input["InstanceMarketOptions"], {
      MarketType: "spot",
      SpotOptions: { SpotInstanceType: "one-time", MaxPrice: "0.05" },
    });
    assert.deepEqual(input["Placement"], { GroupName: "near", Tenancy: "default" });
    assert.deepEqual(input["NetworkInterfaces"], [
      {
        DeviceIndex: 0,
        SubnetId: "subnet-1",
        Groups: ["sg-1", "sg-2"],
        AssociatePublicIpAddress: true,
      },
    ]);
    assert.equal(input["SubnetId"], undefined);
  });

  it("whose token was used with other user data may be there", async () => {
    const { handler } = handlerOf("AwsInstance", {
      describeImages: () => ({}),
      runInstances: throwing("IdempotentParameterMismatch"),
    });
    const error = await failure(handler.create(ctx, someone("AwsInstance"), hostInputs));
    assert.ok(error.ambiguous && !error.retryable);
  });

  it("that waits for its profile is tried again for a while", async () => {
    const words = "Value (nodes) for parameter iamInstanceProfile.name is invalid.";
    const { handler } = handlerOf("AwsInstance", {
      describeImages: () => ({}),
      runInstances: throwing("InvalidParameterValue", words),
    });
    const error = await failure(handler.create(ctx, someone("AwsInstance"), hostInputs));
    assert.equal(error.code, "NOT_YET_USABLE");
  });

  it("says why it does not run, and shows its groups in the order of its inputs", async () => {
    const who = someone("AwsInstance");
    const Tags = [...markTagsOf(who), { Key: "capstan:order", Value: "2,1" }];
    const StateReason = { Code: "Client.VolumeLimitExceeded", Message: "the words of EC2" };
    const SecurityGroups = [{ GroupId: "sg-1" }, { GroupId: "sg-2" }];
    const stopped = { ...launched, State: { Name: "stopped" }, StateReason, Tags, SecurityGroups };
    const { handler } = handlerOf("AwsInstance", {
      describeInstances: () => ({ Reservations: [{ Instances: [stopped] }] }),
    });
    const presence = await handler.locate(ctx, who, "i-1");
    assert.ok(presence.found === "one");
    const { phase, failure: why, spec } = presence.resource;
    assert.deepEqual([phase, why], ["stopped", { code: "QUOTA", reason: "the words of EC2" }]);
    assert.deepEqual(spec["groupIds"], ["sg-2", "sg-1"]);
  });

  it("is started where it stands still, but for a spot instance", async () => {
    const who = someone("AwsInstance");
    const asked: unknown[] = [];
    const at = (state: string, more: object = {}) => ({
      ...launched,
      State: { Name: state },
      Tags: markTagsOf(who),
      ...more,
    });
    const shown = async (instance: object) => {
      const { handler } = handlerOf("AwsInstance", {
        describeInstances: () => ({ Reservations: [{ Instances: [instance] }] }),
        startInstances: (input) => {
          asked.push(input);
          return {};
        },
      });
      const presence = await handler.locate(ctx, who, "i-1");
      assert.ok(presence.found === "one");
      return { handler, current: presence.resource };
    };
    assert.equal((await shown(at("stopping"))).current.phase, "stopped");
    const spot = await shown(at("stopped", { InstanceLifecycle: "spot" }));
    assert.equal(spot.current.phase, "failed");
    const { handler, current } = await shown(at("stopped"));
    const started = await handler.start?.(ctx, current);
    assert.deepEqual([started?.phase, started?.failure], ["pending", undefined]);
    assert.deepEqual(asked, [{ InstanceIds: [current.id] }]);
  });
});

describe("tags of users", () => {
  const who = someone("AwsVpc");
  const shown = (Tags: object[]) =>
    handlerOf("AwsElasticIp", {
      describeAddresses: () => ({ Addresses: [{ AllocationId: "eip-1", Tags }] }),
    }).handler.locate(ctx, who, "eip-1");

  it("are shown as they are; those of others are left alone", async () => {
    const presence = await shown([
      ...markTagsOf(who),
      { Key: "capstan:tags", Value: "team,stage" },
      { Key: "team", Value: "red" },
      { Key: "cost-center", Value: "of the organisation" },
    ]);
    assert.ok(presence.found === "one");
    assert.deepEqual(presence.resource.spec["tags"], { team: "red" });
  });

  it("change in place: put on, taken off, and remembered", async () => {
    const { handler, asked } = handlerOf("AwsElasticIp", {
      deleteTags: () => ({}),
      createTags: () => ({}),
    });
    const spec = { tags: { team: "blue", old: "1" } };
    const current = { id: "eip-1", who, phase: "ready" as const, spec, status: {} };
    await handler.update?.(ctx, current, { tags: { team: "red" } });
    assert.deepEqual(
      asked.map(({ call, input }) => [call, input["Tags"]]),
      [
        ["deleteTags", [{ Key: "old" }]],
        [
          "createTags",
          [
            { Key: "team", Value: "red" },
            { Key: "capstan:tags", Value: "team" },
          ],
        ],
      ],
    );
  });
});

describe("a member's place behind the load balancer", () => {
  const groupArn = "arn:aws:elasticloadbalancing:eu-north-1:1:targetgroup/api/1";
  const spec = { targetGroupArn: groupArn, instanceId: "i-1", port: 6443 };
  const who = someone("AwsTarget", "cp-0-api");
  const id = `${groupArn}|i-1:6443`;
  const mark = { Key: `capstan:target/${who.token}`, Value: "i-1:6443 uid default/demo cp-0-api" };

  const withHealth = (State: string, tags: object[], Reason?: string): ResourceHandler => {
    const { provider } = stubbed({
      describeTags: () => ({ TagDescriptions: [{ ResourceArn: groupArn, Tags: tags }] }),
      describeTargetGroups: () => ({ TargetGroups: [{ TargetGroupArn: groupArn }] }),
      describeTargetHealth: () => ({
        TargetHealthDescriptions: [
          { Target: { Id: "i-1", Port: 6443 }, TargetHealth: { State, Reason } },
        ],
      }),
    });
    const handler = provider.handlers.get("AwsTarget");
    assert.ok(handler !== undefined);
    return handler;
  };

  it("is marked before it is registered, and old marks make way", async () => {
    const old = { Key: "capstan:target/old", Value: "i-9:6443 uid default/demo cp-9-api" };
    const { handler, asked } = handlerOf("AwsTarget", {
      describeTags: () => ({ TagDescriptions: [{ ResourceArn: groupArn, Tags: [old] }] }),
      describeTargetHealth: () => ({}),
      addTags: () => ({}),
      registerTargets: () => ({}),
      removeTags: () => ({}),
    });
    const made = await handler.create(ctx, who, spec);
    const changes = asked.filter(({ call }) => !call.startsWith("describe"));
    assert.deepEqual(
      changes.map(({ call, input }) => [
        call,
        input["Tags"] ?? input["TagKeys"] ?? input["Targets"],
      ]),
      [
        ["addTags", [mark]],
        ["registerTargets", [{ Id: "i-1", Port: 6443 }]],
        ["removeTags", ["capstan:target/old"]],
      ],
    );
    assert.deepEqual([made.id, made.phase], [id, "pending"]);
  });

  const healths = [
    { state: "healthy", phase: "ready" },
    { state: "initial", phase: "pending" },
    { state: "unhealthy", phase: "pending" },
    { state: "draining", phase: "failed" },
  ];
  for (const { state, phase } of healths) {
    it(`counts while it is healthy: ${state} is ${phase}`, async () => {
      const presence = await withHealth(state, [mark]).locate(ctx, who);
      assert.ok(presence.found === "one");
      assert.deepEqual([presence.resource.phase, presence.resource.id], [phase, id]);
      assert.deepEqual(presence.resource.who, who);
    });
  }

  it("is gone once nothing is registered, whatever marks are left", async () => {
    const handler = withHealth("unused", [mark], "Target.NotRegistered");
    assert.deepEqual(await handler.locate(ctx, who, id), { found: "none" });
  });

  it("is nobody's where it bears no mark", async () => {
    assert.equal((await withHealth("healthy", []).find?.(ctx, id))?.who, undefined);
  });
});

describe("a volume", () => {
  it("whose host does not run yet is attached later", async () => {
    const { handler } = handlerOf("AwsVolume", { attachVolume: throwing("IncorrectState") });
    const spec = { zone: "eu-north-1a", type: "gp3", encrypted: true, gib: 8, device: "/dev/sdf" };
    const who = someone("AwsVolume");
    const current = { id: "vol-1", who, phase: "pending" as const, spec, status: {} };
    const error = await failure(handler.update?.(ctx, current, { ...spec, instanceId: "i-1" }));
    assert.equal(error.code, "NOT_YET_USABLE");
  });

  it("that is attached is detached first, and deleted once it is free", async () => {
    const { handler, calls } = handlerOf("AwsVolume", {
      deleteVolume: throwing("VolumeInUse"),
      detachVolume: throwing("IncorrectState"),
    });
    const who = someone("AwsVolume");
    const spec = { instanceId: "i-1" };
    const current = { id: "vol-1", who, phase: "ready" as const, spec, status: {} };
    const error = await failure(handler.remove(ctx, current));
    assert.ok(error.code === "IN_USE" && error.retryable);
    assert.deepEqual(calls(), ["deleteVolume", "detachVolume"]);
  });
});
