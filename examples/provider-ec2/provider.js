// Machines as instances of EC2, in a subnet and a security group that are there. network.js makes these, too.

import { EC2 } from "@aws-sdk/client-ec2";
import { STS } from "@aws-sdk/client-sts";
import { defineProvider, nodeFields } from "capstan/provider";
import { askerOf, callsOf, ifThere, tagged, whoOf } from "./ec2.js";

/** An instance in any other state does not come up by itself. */
const phases = { pending: "pending", running: "ready", terminated: "gone" };

function shownInstance({ InstanceId: id, State, StateReason, ...instance }) {
  const reason = StateReason?.Message || State.Name;
  const code = /LimitExceeded/.test(StateReason?.Code) ? "QUOTA" : "CLOUD_FAILED";
  const { ImageId: imageId, InstanceType: instanceType, SubnetId: subnetId } = instance;
  const securityGroupId = instance.SecurityGroups.map(({ GroupId }) => GroupId).join(", ");
  const providerId = `aws:///${instance.Placement.AvailabilityZone}/${id}`;
  return {
    id,
    who: whoOf(instance.Tags),
    phase: phases[State.Name] ?? "failed",
    failure: State.Name in phases ? undefined : { code, reason },
    spec: { imageId, instanceType, subnetId, securityGroupId },
    status: { address: instance.PrivateIpAddress, providerId },
    createdAtMs: instance.LaunchTime.getTime(),
  };
}

const callsOfHosts = (ask) => ({
  ...callsOf(ask, {
    describe: "describeInstances",
    idFilter: "instance-id",
    shown: ({ Reservations }) => Reservations.flatMap((one) => one.Instances.map(shownInstance)),
  }),
  timing: { pollMs: 5_000 },
  unobservable: nodeFields, // EC2 does not know what a node is.
  async create(ctx, who, spec) {
    const { imageId: ImageId, instanceType: InstanceType, subnetId: SubnetId } = spec;
    const place = { SubnetId, SecurityGroupIds: [spec.securityGroupId] };
    const once = { ClientToken: who.token, MinCount: 1, MaxCount: 1, ...tagged("instance", who) };
    const made = await ask(ctx, "runInstances", { ImageId, InstanceType, ...place, ...once });
    return shownInstance(made.Instances[0]);
  },
  /** Called again until it is done: while an instance stops, EC2 gives it no other type, and does not start it. */
  async update(ctx, current, spec) {
    const one = { InstanceIds: [current.id] };
    if (current.spec.instanceType !== spec.instanceType) {
      const InstanceType = { Value: spec.instanceType };
      await ask(ctx, "stopInstances", one);
      await ask(ctx, "modifyInstanceAttribute", { InstanceId: current.id, InstanceType });
    }
    await ask(ctx, "startInstances", one);
    return { ...current, phase: "pending", spec };
  },
  remove: (ctx, { id }) => ifThere(ask(ctx, "terminateInstances", { InstanceIds: [id] })),
});

const text = (description) => ({ type: "string", description });

export const fields = {
  imageId: text("Image that it boots."),
  instanceType: { ...text("What it runs on."), default: "t3.medium" },
  subnetId: text("Subnet that it is in."),
  securityGroupId: text("Security group that it is in."),
};
const required = ["imageId", "subnetId", "securityGroupId"];

/** The whole provider; network.js adds to it. */
export const hosts = (client, sts) => ({
  name: "ec2",
  apiVersion: "ec2.example.dev/v1alpha1",
  machineSpec: { kind: "Ec2MachineProviderSpec", schema: { properties: fields, required } },
  keyInputs: ["instanceType", "imageId"],
  rules: { instanceType: { kind: "inPlace", disruptive: "the instance is stopped and started" } },
  timing: { listingLagMs: 3_000, longestCallMs: 30_000 },
  calls: { perSecond: 20, burst: 50 },
  machine: callsOfHosts(askerOf(client)),
  async identity({ signal }) {
    this.caller ??= await sts.getCallerIdentity({}, { abortSignal: signal });
    return { account: this.caller.Account, region: await client.config.region() };
  },
});

export const ec2Provider = (client, sts) => defineProvider(hosts(client, sts));

/** Credentials, region and endpoint come from where all tools of AWS look for them. */
export default () => ec2Provider(new EC2(), new STS());
