// The same with a subnet and a security group for each cluster, in a VPC that is there.

import { EC2 } from "@aws-sdk/client-ec2";
import { STS } from "@aws-sdk/client-sts";
import { CapstanError, defineProvider, hostSpecOf, refTo } from "capstan/provider";
import { askerOf, callsOf, filtersOf, ifThere, tagged, whoOf } from "./ec2.js";
import { fields, hosts } from "./provider.js";

function shownSubnet({ SubnetId: id, State, Tags, VpcId, CidrBlock }) {
  const phase = State === "available" ? "ready" : "pending";
  return { id, who: whoOf(Tags), phase, spec: { vpcId: VpcId, cidr: CidrBlock }, status: {} };
}

const subnets = {
  describe: "describeSubnets",
  idFilter: "subnet-id",
  shown: ({ Subnets }) => Subnets.map(shownSubnet),
};

/** Of any protocol and port. */
const anything = "-1";

function shownGroup({ GroupId: id, Tags, VpcId, IpPermissions = [] }) {
  const permissions = IpPermissions.filter(({ IpProtocol }) => IpProtocol === anything);
  const from = permissions.flatMap(({ IpRanges }) => IpRanges.map(({ CidrIp }) => CidrIp)).sort();
  return { id, who: whoOf(Tags), phase: "ready", spec: { vpcId: VpcId, from }, status: {} };
}

const groups = {
  describe: "describeSecurityGroups",
  idFilter: "group-id",
  shown: ({ SecurityGroups }) => SecurityGroups.map(shownGroup),
};

/** EC2 takes no token here, but a VPC has each range, and each name, once: the resource that has it may be this one. */
const madeOnce = (ask, ctx, who, { made, kind, taken }) =>
  made.catch(async (error) => {
    if (error.code !== "INVALID_INPUT") throw error;
    const [one] = kind.shown(await ask(ctx, kind.describe, { Filters: filtersOf(taken) }));
    if (one?.who?.token !== who.token) throw error;
    return one;
  });

/** EC2 does not say what stands in the way of a deletion: network interfaces do. */
async function removed(ask, ctx, [call, input], used) {
  const Filters = filtersOf(used);
  try {
    await ifThere(ask(ctx, call, input));
  } catch (error) {
    const { code, source, message } = error;
    if (code !== "IN_USE") throw error;
    const { NetworkInterfaces } = await ask(ctx, "describeNetworkInterfaces", { Filters });
    const blockedBy = NetworkInterfaces.map((one) => one.NetworkInterfaceId);
    throw new CapstanError({ code, source, message, blockedBy });
  }
}

const subnetCalls = (ask) => ({
  ...callsOf(ask, subnets),
  create(ctx, who, { vpcId: VpcId, cidr: CidrBlock }) {
    const wanted = { VpcId, CidrBlock, ...tagged("subnet", who) };
    const made = ask(ctx, "createSubnet", wanted).then(({ Subnet }) => shownSubnet(Subnet));
    const taken = { "vpc-id": VpcId, "cidr-block": CidrBlock };
    return madeOnce(ask, ctx, who, { made, kind: subnets, taken });
  },
  remove: (ctx, { id }) =>
    removed(ask, ctx, ["deleteSubnet", { SubnetId: id }], { "subnet-id": id }),
});

const groupCalls = (ask) => ({
  ...callsOf(ask, groups),
  /** A new one lets nothing in, and is shown so: Capstan then calls update. */
  create(ctx, who, { vpcId: VpcId }) {
    const GroupName = `capstan-${who.token}`;
    const { TagSpecifications } = tagged("security-group", who);
    const wanted = { GroupName, VpcId, Description: who.name, TagSpecifications };
    const made = ask(ctx, "createSecurityGroup", wanted).then(({ GroupId }) =>
      shownGroup({ GroupId, VpcId, Tags: TagSpecifications[0].Tags }),
    );
    const taken = { "vpc-id": VpcId, "group-name": GroupName };
    return madeOnce(ask, ctx, who, { made, kind: groups, taken });
  },
  async update(ctx, current, spec) {
    const change = async (call, ranges, others) => {
      const IpRanges = ranges.filter((one) => !others.includes(one)).map((CidrIp) => ({ CidrIp }));
      const IpPermissions = [{ IpProtocol: anything, IpRanges }];
      if (IpRanges.length > 0) await ask(ctx, call, { GroupId: current.id, IpPermissions });
    };
    await change("authorizeSecurityGroupIngress", spec.from, current.spec.from);
    await change("revokeSecurityGroupIngress", current.spec.from, spec.from);
    return { ...current, spec };
  },
  remove: (ctx, { id }) =>
    removed(ask, ctx, ["deleteSecurityGroup", { GroupId: id }], { "group-id": id }),
});

const vpcId = { type: "string", description: "VPC that its subnet is made in." };
const cidr = { type: "string", description: "Range of the subnet that its instances are in." };
const clusterSchema = { properties: { vpcId, cidr }, required: ["vpcId", "cidr"] };
const { imageId, instanceType } = fields;
const machineSchema = { properties: { imageId, instanceType }, required: ["imageId"] };

export function networkProvider(client, sts) {
  const ask = askerOf(client);
  return defineProvider({
    ...hosts(client, sts),
    name: "ec2-network",
    apiVersion: "network.ec2.example.dev/v1alpha1",
    machineSpec: { kind: "Ec2MachineProviderSpec", schema: machineSchema },
    clusterSpec: { kind: "Ec2ClusterProviderSpec", schema: clusterSchema, networks: ["cidr"] },
    kinds: {
      Ec2Subnet: { calls: subnetCalls(ask), keyInputs: ["vpcId", "cidr"] },
      Ec2Group: { calls: groupCalls(ask), rules: { from: { kind: "inPlace" } } },
    },
    infrastructure: (cluster) => [
      { kind: "Ec2Subnet", name: "nodes", spec: { vpcId: cluster.vpcId, cidr: cluster.cidr } },
      { kind: "Ec2Group", name: "nodes", spec: { vpcId: cluster.vpcId, from: [cluster.cidr] } },
    ],
    hostSpec: (machine) => ({
      ...hostSpecOf(machine, machineSchema),
      subnetId: refTo("Ec2Subnet", "nodes"),
      securityGroupId: refTo("Ec2Group", "nodes"),
    }),
  });
}

export default () => networkProvider(new EC2(), new STS());
