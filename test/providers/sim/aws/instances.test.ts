import assert from "node:assert/strict";
import type { ParamTree } from "../../../../providers/sim/aws/protocol/params.js";
import { actOnInstance } from "../../../../providers/sim/aws/instance-acts.js";
import { at } from "../xml-tree.js";
import { SimAccount } from "./account.js";

describe("instances of the simulated AWS", () => {
  let account: SimAccount;
  let subnetId: string;
  let groupId: string;
  const start = async (more: Readonly<Record<string, ParamTree>> = {}) =>
    account.text(
      "RunInstances",
      await account.launch(subnetId, groupId, more),
      "instancesSet.0.instanceId",
    );
  const refusal = async (more: Readonly<Record<string, ParamTree>>) =>
    account.code("ec2", "RunInstances", await account.launch(subnetId, groupId, more));
  const shown = async (id: string) =>
    at(
      await account.ec2("DescribeInstances", { InstanceId: [id] }),
      "reservationSet.0.instancesSet.0",
    );
  const make = async (settings = {}) => {
    account = new SimAccount(settings);
    ({ subnetId, groupId } = await account.network());
  };

  beforeEach(() => make({ durations: { bootMs: 10_000, stopMs: 5_000, terminateMs: 7_000 } }));

  it("boot, run, shut down, stay a while as terminated without anything, and are forgotten", async () => {
    const id = await start();
    assert.equal(await account.stateOf(id), "pending");
    account.advance(9_999);
    assert.equal(await account.stateOf(id), "pending");
    account.advance(1);
    assert.equal(await account.stateOf(id), "running");
    await account.ec2("TerminateInstances", { InstanceId: [id] });
    assert.equal(await account.stateOf(id), "shutting-down");
    assert.equal(
      account.ids("interfaces").length,
      1,
      "it has its interface until it is terminated",
    );
    account.advance(7_000);
    const gone = await shown(id);
    assert.equal(at(gone, "instanceState.name"), "terminated");
    assert.equal(at(gone, "stateReason.code"), "Client.UserInitiatedShutdown");
    assert.deepEqual(
      [at(gone, "vpcId"), at(gone, "privateIpAddress"), at(gone, "blockDeviceMapping")],
      ["", "", ""],
    );
    assert.deepEqual([account.ids("interfaces"), account.ids("volumes")], [[], []]);
    await account.ec2("TerminateInstances", { InstanceId: [id] });
    account.advance(3_600_000);
    assert.equal(
      await account.code("ec2", "DescribeInstances", { InstanceId: [id] }),
      "InvalidInstanceID.NotFound",
    );
  });

  it("volumes and interfaces that do not go with them stay", async () => {
    const Ebs = { VolumeSize: "30", DeleteOnTermination: "false" };
    const id = await start({ BlockDeviceMapping: [{ DeviceName: "/dev/sdf", Ebs }] });
    await account.ec2("TerminateInstances", { InstanceId: [id] });
    account.advance(60_000);
    const volumes = await account.ec2("DescribeVolumes");
    assert.equal(at(volumes, "volumeSet.0.size"), "30");
    assert.equal(at(volumes, "volumeSet.0.status"), "available");
    assert.equal(account.ids("volumes").length, 1, "the root volume has gone");
  });

  it("stop and start again; their type changes only while they are stopped", async () => {
    const id = await account.instance(subnetId, groupId);
    const change = { InstanceId: id, InstanceType: { Value: "t3.large" } };
    assert.equal(
      await account.code("ec2", "ModifyInstanceAttribute", change),
      "IncorrectInstanceState",
    );
    await account.ec2("StopInstances", { InstanceId: [id] });
    assert.equal(await account.stateOf(id), "stopping");
    assert.equal(
      await account.code("ec2", "StartInstances", { InstanceId: [id] }),
      "IncorrectInstanceState",
    );
    account.advance(5_000);
    await account.ec2("ModifyInstanceAttribute", change);
    await account.ec2("StartInstances", { InstanceId: [id] });
    account.advance(10_000);
    assert.equal(await account.stateOf(id), "running");
    assert.equal(at(await shown(id), "instanceType"), "t3.large");
  });

  it("a public address of their own is lost with a stop, and another one comes with the start", async () => {
    await account.ec2("ModifySubnetAttribute", {
      SubnetId: subnetId,
      MapPublicIpOnLaunch: { Value: "true" },
    });
    const id = await account.instance(subnetId, groupId);
    const first = at(await shown(id), "ipAddress");
    await account.ec2("StopInstances", { InstanceId: [id] });
    account.advance(5_000);
    assert.equal(at(await shown(id), "ipAddress"), "");
    await account.ec2("StartInstances", { InstanceId: [id] });
    assert.equal(at(await shown(id), "ipAddress"), "", "not before it runs");
    account.advance(10_000);
    const second = at(await shown(id), "ipAddress");
    assert.match(
      `${String(first)} ${String(second)}`,
      /^198\.1[89]\.\d+\.\d+ 198\.1[89]\.\d+\.\d+$/,
    );
    assert.notEqual(first, second);
  });

  it("protected ones are not terminated", async () => {
    const id = await start({ DisableApiTermination: "true" });
    const terminate = () => account.code("ec2", "TerminateInstances", { InstanceId: [id] });
    assert.equal(await terminate(), "OperationNotPermitted");
    await account.ec2("ModifyInstanceAttribute", {
      InstanceId: id,
      DisableApiTermination: { Value: "false" },
    });
    assert.equal(await terminate(), "");
  });

  const refusals: readonly (readonly [string, Readonly<Record<string, ParamTree>>, string])[] = [
    ["of an image that is not there", { ImageId: "ami-00000000" }, "InvalidAMIID.NotFound"],
    ["of an id that is none", { ImageId: "ubuntu" }, "InvalidAMIID.Malformed"],
    ["of a type that there is not", { InstanceType: "t9.huge" }, "InvalidParameterValue"],
    [
      "of a type with another architecture",
      { InstanceType: "t4g.medium" },
      "InvalidParameterValue",
    ],
    ["with a key pair that is not there", { KeyName: "nobody" }, "InvalidKeyPair.NotFound"],
    [
      "with a group that is not there",
      { SecurityGroupId: ["sg-00000000"] },
      "InvalidGroup.NotFound",
    ],
    ["with user data that is not Base64", { UserData: "#!/bin/sh" }, "InvalidParameterValue"],
    [
      "with more than 16 KiB of user data",
      { UserData: Buffer.alloc(16_385).toString("base64") },
      "InvalidParameterValue",
    ],
    [
      "with interfaces and a subnet",
      { NetworkInterface: [{ DeviceIndex: "0" }] },
      "InvalidParameterCombination",
    ],
    [
      "with a root volume smaller than its image",
      { BlockDeviceMapping: [{ DeviceName: "/dev/sda1", Ebs: { VolumeSize: "4" } }] },
      "InvalidBlockDeviceMapping",
    ],
    [
      "in another zone than their subnet",
      { Placement: { AvailabilityZone: "eu-north-1b" } },
      "InvalidParameterValue",
    ],
    ["with tags of what it does not make", tags("vpc"), "InvalidParameterValue"],
    [
      "with a list of no tags",
      { TagSpecification: [{ ResourceType: "volume", Tag: [] }] },
      "InvalidTagKey.Malformed",
    ],
    ["with a tag key of AWS", tags("instance", "aws:x"), "InvalidParameterValue"],
    ["by a launch template", { LaunchTemplate: { LaunchTemplateName: "x" } }, "UnknownParameter"],
  ];
  for (const [name, more, code] of refusals) {
    it(`${name}: ${code}, and nothing is made`, async () => {
      assert.equal(await refusal(more), code);
      assert.deepEqual([account.ids("instances"), account.ids("interfaces")], [[], []]);
    });
  }

  it("there are no more than the quota of vCPUs, those that stopped not counted", async () => {
    await make({ quotas: { vcpus: 4 } });
    const id = await account.instance(subnetId, groupId);
    await account.instance(subnetId, groupId);
    assert.equal(await refusal({}), "VcpuLimitExceeded");
    await account.ec2("StopInstances", { InstanceId: [id] });
    account.advance(60_000);
    assert.equal(await refusal({}), "");
  });

  it("there is no room where the settings have a shortage, and the answer names zones that have it", async () => {
    await make({ shortages: [{ instanceType: "t3.*", zone: "eu-north-1a" }] });
    await assert.rejects(start(), {
      code: "InsufficientInstanceCapacity",
      status: 500,
      message: /eu-north-1b, eu-north-1c/,
    });
    assert.equal(await refusal({ InstanceType: "m5.large" }), "");
  });

  it("an instance profile has to be one, where the settings list them", async () => {
    await make({ instanceProfiles: ["nodes"] });
    assert.equal(await refusal({ IamInstanceProfile: { Name: "other" } }), "InvalidParameterValue");
    const id = await start({ IamInstanceProfile: { Name: "nodes" } });
    assert.match(
      String(at(await shown(id), "iamInstanceProfile.arn")),
      /:instance-profile\/nodes$/,
    );
  });

  it("a spot instance is told that it goes, goes, and cannot be stopped", async () => {
    const id = await account.instance(subnetId, groupId, {
      InstanceMarketOptions: { MarketType: "spot" },
    });
    assert.equal(at(await shown(id), "instanceLifecycle"), "spot");
    assert.equal(
      await account.code("ec2", "StopInstances", { InstanceId: [id] }),
      "UnsupportedOperation",
    );
    assert.deepEqual(actOnInstance(account.aws, { id, interrupt: true }), ["eu-north-1"]);
    const status = () =>
      account.text("DescribeSpotInstanceRequests", {}, "spotInstanceRequestSet.0.status.code");
    assert.equal(await status(), "marked-for-termination");
    assert.equal(await account.stateOf(id), "running");
    account.advance(120_000);
    assert.equal(await account.stateOf(id), "shutting-down");
    assert.equal(await status(), "instance-terminated-no-capacity");
  });

  it("they come to what a fault says: fail, or never run", async () => {
    account.aws.faults.add({ action: "RunInstances", effect: { kind: "fate", fate: "fails" } });
    account.aws.faults.add({
      action: "RunInstances",
      skip: 1,
      effect: { kind: "fate", fate: "never" },
    });
    const [failing, waiting] = [await start(), await start()];
    account.advance(60_000);
    const failed = await shown(failing);
    assert.equal(at(failed, "instanceState.name"), "terminated");
    assert.equal(at(failed, "stateReason.code"), "Server.InternalError");
    assert.equal(await account.stateOf(waiting), "pending");
  });

  it("they print what somebody has them print", async () => {
    const id = await account.instance(subnetId, groupId);
    actOnInstance(account.aws, { id, console: "hello\n" });
    const output = await account.text("GetConsoleOutput", { InstanceId: id }, "output");
    assert.equal(Buffer.from(output, "base64").toString(), "hello\n");
  });

  it("their attributes, metadata options and groups change", async () => {
    const id = await account.instance(subnetId, groupId, {
      UserData: Buffer.from("x").toString("base64"),
    });
    await account.ec2("ModifyInstanceMetadataOptions", { InstanceId: id, HttpTokens: "required" });
    const [defaultGroup = ""] = account.ids("groups").slice(1);
    await account.ec2("ModifyInstanceAttribute", { InstanceId: id, GroupId: [defaultGroup] });
    const now = await shown(id);
    assert.equal(at(now, "metadataOptions.httpTokens"), "required");
    assert.equal(at(now, "groupSet.0.groupId"), defaultGroup);
    const userData = await account.text(
      "DescribeInstanceAttribute",
      { InstanceId: id, Attribute: "userData" },
      "userData.value",
    );
    assert.equal(Buffer.from(userData, "base64").toString(), "x");
  });

  it("what EC2 announces is shown beforehand, and happens in time", async () => {
    const [retiring, rebooted] = [
      await account.instance(subnetId, groupId),
      await account.instance(subnetId, groupId),
    ];
    const event = (code: "instance-retirement" | "system-reboot") => ({ code, inMs: 60_000 });
    actOnInstance(account.aws, { id: retiring, event: event("instance-retirement") });
    actOnInstance(account.aws, { id: rebooted, event: event("system-reboot") });
    const announced = async (code: string) => {
      const Filter = [{ Name: "event.code", Value: [code] }];
      return account.ec2("DescribeInstanceStatus", { Filter });
    };
    const answer = await announced("instance-retirement");
    assert.equal((at(answer, "instanceStatusSet") as unknown[]).length, 1);
    assert.equal(at(answer, "instanceStatusSet.0.instanceId"), retiring);
    const shownEvent = at(answer, "instanceStatusSet.0.eventsSet.0");
    assert.equal(at(shownEvent, "code"), "instance-retirement");
    const inMs = Date.parse(String(at(shownEvent, "notBefore"))) - account.aws.clock.now();
    assert.ok(Math.abs(inMs - 60_000) <= 1_000, `${inMs} ms`);
    account.advance(60_000 + 5_000);
    assert.deepEqual(
      [await account.stateOf(retiring), await account.stateOf(rebooted)],
      ["stopped", "running"],
    );
    assert.equal(at(await announced("instance-retirement"), "instanceStatusSet"), "");
  });

  it("several of one call share a reservation", async () => {
    const answer = await account.ec2(
      "RunInstances",
      await account.launch(subnetId, groupId, { MaxCount: "3" }),
    );
    assert.equal((at(answer, "instancesSet") as unknown[]).length, 3);
    assert.equal(at(answer, "instancesSet.2.amiLaunchIndex"), "2");
  });
});

function tags(ResourceType: string, Key = "a"): Readonly<Record<string, ParamTree>> {
  return { TagSpecification: [{ ResourceType, Tag: [{ Key, Value: "b" }] }] };
}
