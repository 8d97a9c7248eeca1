// An ordinary program with a dynamic provider whose resources do nothing: what is left is Pulumi.

const { readFileSync } = require("node:fs");
const pulumi = require("@pulumi/pulumi");

/** @typedef {{ name: string, network?: unknown, diskGib?: number }} Inputs */

/** @type {import("@pulumi/pulumi").dynamic.ResourceProvider<Inputs, Inputs>} */
const provider = {
  create: async (inputs) => ({ id: inputs.name, outs: inputs }),
  diff: async (_id, recorded, wanted) => ({ changes: recorded.diskGib !== wanted.diskGib }),
  update: async (_id, _recorded, wanted) => ({ outs: wanted }),
  delete: async () => {},
};

class Thing extends pulumi.dynamic.Resource {
  /**
   * @param {string} name
   * @param {object} inputs
   */
  constructor(name, inputs) {
    super(provider, name, { name, ...inputs });
  }
}

const { machines, diskGib } = JSON.parse(readFileSync("settings.json", "utf8"));
const network = new Thing("network", {});
for (let index = 0; index < machines; index += 1) {
  new Thing(`machine-${index}`, { network: network.id, diskGib });
}
