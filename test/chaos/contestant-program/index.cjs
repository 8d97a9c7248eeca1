// An ordinary Pulumi program with a dynamic provider, written as such programs are: create answers
// with the cloud's id, each call has a token of its own as cloud SDKs fill it in, read tells what is
// gone. What it lacks is what plain Pulumi lacks.

const { readFileSync } = require("node:fs");
const pulumi = require("@pulumi/pulumi");

/** Runs in the provider's process: everything that it needs is required there. */
const provider = {
  async create({ kind, name, cluster, spec }) {
    const { cloud, token } = require(process.env.CONTESTANT_CLOUD)();
    const who = { cluster, clusterUid: cluster, kind, name, token };
    const { id } = await cloud.create(kind, who, spec);
    cloud.close();
    return { id, outs: { kind, name, cluster, spec } };
  },
  async read(id, recorded) {
    const { cloud } = require(process.env.CONTESTANT_CLOUD)();
    const found = await cloud.get(id);
    cloud.close();
    if (found === undefined || found.state === "terminated") return {};
    return { id, props: { ...recorded, spec: found.spec } };
  },
  async diff(_id, { spec: recorded }, { spec: wanted }) {
    const { isDeepStrictEqual } = require("node:util");
    const fixed = ["networkId", "size", "cidr"];
    const replaces = fixed.some((field) => recorded[field] !== wanted[field]) ? ["spec"] : [];
    return { changes: !isDeepStrictEqual(recorded, wanted), replaces };
  },
  async update(id, _recorded, { kind, name, cluster, spec }) {
    const { cloud } = require(process.env.CONTESTANT_CLOUD)();
    await cloud.update(id, spec);
    cloud.close();
    return { outs: { kind, name, cluster, spec } };
  },
  async delete(id) {
    const { cloud } = require(process.env.CONTESTANT_CLOUD)();
    await cloud.terminate(id);
    cloud.close();
  },
};

class Thing extends pulumi.dynamic.Resource {
  constructor(kind, name, cluster, spec) {
    super(provider, name, { kind, name, cluster, spec });
  }
}

const { cluster, network, machines } = JSON.parse(readFileSync("settings.json", "utf8"));
const { id: networkId } = new Thing("LocalNetwork", "network", cluster, network);
new Thing("LocalLoadBalancer", "api", cluster, { networkId, port: 6443 });
for (const { name, spec } of machines) {
  new Thing("LocalHost", name, cluster, { networkId, ...spec });
}
