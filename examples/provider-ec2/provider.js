// Machines as instances of EC2, in a subnet and a security group that are there. network.js makes these, too.

import { EC2 } from "@aws-sdk/client-ec2";
import { STS } from "@aws-sdk/client-sts";
import { defineProvider, nodeFields } from "capstan/provider";
import { askerOf, callsOf, ifThere, tagged, whoOf } from "./ec2.js";

/** An instance in any other state does not come up by itself. */
const phases = { pending: "pending", running: "ready", terminated: "gone" };

function shownInstance({ InstanceId: id, State, StateReason, ...instance }) {
  const { AvailabilityZone: zone } = instance.Placement;
  const reason = StateReason?.Message || State.Name;
  const code = /LimitExceeded/.test(StateReason?.Code) ? "QUOTA" : "CLOUD_FAILED";
  return {
    id,
    who: whoOf(instance.Tags),
    phase: phases[State.Name] ?? "failed",
    failure: State.Name in phases ? undefined : { code, reason },
    spec: {
      imageId: instance.ImageId,
      instanceType: instance.InstanceType,
      subnetId: instance.SubnetId,
      securityGroupId: instance.SecurityGroups.map(({ GroupId }) => GroupId).join(", "),
    },
    status: { address: instance.PrivateIpAddress, providerId: `aws:///${zone}/${id}` },
    createdAtMs: instance.LaunchTime.getTime(),
  };
}

export const hostCalls = (ask) => ({
  ...callsOf(ask, {
    describe: "describeInstances",
    idFilter: "instance-id",
    shown: ({ Reservations }) => Reservations.flatMap((one) => one.Instances.map(shownInstance)),
  }),
  timing: { pollMs: 5_000 },
  unobservable: nodeFields, // EC2 does not know what a node is.
  async create(ctx, who, { imageId: ImageId, instanceType: InstanceType, ...place }) {
    const { subnetId: SubnetId, securityGroupId } = place;
    const one = { ClientToken: who.token, MinCount: 1, MaxCount: 1, ...tagged("instance", who) };
    const input = { ...one, ImageId, InstanceType, SubnetId, SecurityGroupIds: [securityGroupId] };
    const { Instances } = await ask(ctx, "runInstances", input);
    return shownInstance(Instances[0]);
  },
  /** Called again until it is done: while an instance stops, EC2 gives it no other type, and does not start it. */
  async update(ctx, current, spec) {
    const InstanceIds = [current.id];
    if (current.spec.instanceType !== spec.instanceType) {
      const InstanceType = { Value: spec.instanceType };
      await ask(ctx, "stopInstances", { InstanceIds });
      await ask(ctx, "modifyInstanceAttribute", { InstanceId: current.id, InstanceType });
    }
    await ask(ctx, "startInstances", { InstanceIds });
    return { ...current, phase: "pending", spec };
  },
  remove: (ctx, { id }) => ifThere(ask(ctx, "terminateInstances", { InstanceIds: [id] })),
});

const imageId = { type: "string", description: "Image that it boots." };
const instanceType = { type: "string", description: "What it runs on.", default: "t3.medium" };
const subnetId = { type: "string", description: "Subnet that it is in." };
const securityGroupId = { type: "string", description: "Security group that it is in." };

export const machineSchema = { properties: { imageId, instanceType }, required: ["imageId"] };
const placedSchema = {
  properties: { ...machineSchema.properties, subnetId, securityGroupId },
  required: ["imageId", "subnetId", "securityGroupId"],
};

/** What a provider of EC2 has with and without infrastructure of its own. */
export const common = (client, sts) => ({
  keyInputs: ["instanceType", "imageId"],
  rules: { instanceType: { kind: "inPlace", disruptive: "the instance is stopped and started" } },
  timing: { listingLagMs: 3_000, longestCallMs: 30_000 },
  calls: { perSecond: 20, burst: 50 },
  async identity({ signal }) {
    this.caller ??= await sts.getCallerIdentity({}, { abortSignal: signal });
    return { account: this.caller.Account, region: await client.config.region() };
  },
});

export const ec2Provider = (client, sts) =>
  defineProvider({
    ...common(client, sts),
    name: "ec2",
    apiVersion: "ec2.example.dev/v1alpha1",
    machineSpec: { kind: "Ec2MachineProviderSpec", schema: placedSchema },
    machine: hostCalls(askerOf(client)),
  });

/** Credentials, region and endpoint come from where all tools of AWS look for them. */
export default () => ec2Provider(new EC2(), new STS());
