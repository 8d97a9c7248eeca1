// An ordinary Pulumi program with a dynamic provider, written as such programs are: create answers with AWS's id, read tells
// what is gone, the SDK fills in tokens of its own. What it lacks is what plain Pulumi lacks.

const { readFileSync } = require("node:fs");
const pulumi = require("@pulumi/pulumi");

/** Runs in the provider's process: everything that it needs is required there. */
const provider = {
  async create(inputs) {
    const { kinds, patiently } = require(process.env.CONTESTANT_CLOUD);
    const id = await patiently(() => kinds[inputs.kind].make(inputs));
    return { id, outs: inputs };
  },
  async read(id, recorded) {
    const { kinds, isGone } = require(process.env.CONTESTANT_CLOUD);
    try {
      const seen = await kinds[recorded.kind].see(id);
      return Array.isArray(seen) && seen.length === 0 ? {} : { id, props: recorded };
    } catch (error) {
      if (isGone(error)) return {};
      throw error;
    }
  },
  async diff(_id, recorded, wanted) {
    const changed = Object.keys(wanted).filter((key) => recorded[key] !== wanted[key]);
    return { changes: changed.length > 0, replaces: changed };
  },
  async delete(id, recorded) {
    const { kinds, patiently, isGone } = require(process.env.CONTESTANT_CLOUD);
    await patiently(() => kinds[recorded.kind].end(id, recorded), isGone);
  },
};

const { cluster, volumes, ranges } = JSON.parse(readFileSync("settings.json", "utf8"));

class Thing extends pulumi.dynamic.Resource {
  constructor(kind, name, inputs = {}, dependsOn = []) {
    super(provider, name, { kind, name, cluster, ...inputs }, { dependsOn });
  }
}

const vpc = new Thing("vpc", "vpc");
const vpcId = vpc.id;
const outside = new Thing("subnet", "outside", { vpcId, cidr: "10.0.224.0/22" });
const inside = new Thing("subnet", "inside", { vpcId, cidr: "10.0.0.0/19" });
const gateway = new Thing("internetGateway", "internet", { vpcId });
const address = new Thing("address", "nat-address");
const way = { subnetId: outside.id, allocationId: address.id };
const nat = new Thing("natGateway", "nat", way, [gateway]);
const out = { vpcId, subnetId: outside.id, gatewayId: gateway.id };
new Thing("routeTable", "outside-routes", out);
new Thing("routeTable", "inside-routes", { vpcId, subnetId: inside.id, natGatewayId: nat.id });
const group = new Thing("group", "hosts", { vpcId });
for (const cidr of ranges) new Thing("rule", `api-from-${cidr}`, { groupId: group.id, cidr });
const balancing = { subnetId: outside.id, groupId: group.id };
const balancer = new Thing("loadBalancer", "api", balancing, [gateway]);
const targets = new Thing("targetGroup", "members", { vpcId });
const arns = { loadBalancerArn: balancer.id, targetGroupArn: targets.id };
new Thing("listener", "listener", arns);
const host = new Thing("instance", "cp-0", { subnetId: inside.id, groupId: group.id });
new Thing("target", "member", { targetGroupArn: targets.id, instanceId: host.id });
for (const { name, device, gib } of volumes) {
  new Thing("volume", name, { instanceId: host.id, device, gib });
}
