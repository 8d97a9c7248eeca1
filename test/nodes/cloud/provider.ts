import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  defineProvider,
  type Identity,
  type InfrastructureProvider,
  type ProviderContext,
} from "../../../src/provider/index.js";
import { Network } from "../network.js";
import type { CloudApi } from "./api.js";
import { cloudBehind } from "./connection.js";

/** What the folder of a cloud says of it to those who use it. */
export interface CloudFacts {
  readonly socketPath: string;
  /** Version of what all hosts run. */
  readonly containerd: string;
}

export const cloudVariable = "CAPSTAN_TEST_NODES";
export const apiVersion = "nodes.test.capstan.dev/v1";

/** Where a cloud's facts stand in its folder. */
export function factsIn(folder: string): string {
  return join(folder, "cloud.json");
}

/** A provider whose hosts are made of namespaces of this machine, by the cloud that the environment names. */
export default function nodesProvider({ env }: ProviderContext): InfrastructureProvider {
  const folder = env[cloudVariable];
  if (folder === undefined) throw new Error(`${cloudVariable} names no folder of a cloud`);
  const facts = JSON.parse(readFileSync(factsIn(folder), "utf8")) as CloudFacts;
  return providerOf(cloudBehind(facts.socketPath), facts);
}

function providerOf(cloud: CloudApi, { socketPath, containerd }: CloudFacts) {
  const idOf = ({ name, token }: Identity) => `${name}.${token.slice(0, 8)}`;
  const generation = { type: "string", default: "", description: "Another one needs a new host." };
  return defineProvider({
    name: "nodes",
    apiVersion,
    machineSpec: { kind: "NodesMachineProviderSpec", schema: { properties: { generation } } },
    timing: { listingLagMs: 0, longestCallMs: 10_000 },
    userData: {
      format: "cloud-config",
      software: () => "image",
      containerRuntime: { name: "containerd", version: containerd },
      commands: {
        name: "hostname",
        address: "hostname -I | cut -d' ' -f1",
        providerId: "echo nodes://$(hostname)",
      },
      console: (_ctx, { id }) => cloud.console(id),
    },
    apiEndpoint: () => Network.endpoint,
    identity: async () => ({ socketPath }),
    machine: {
      async locate(_ctx, who, id = idOf(who)) {
        const resource = await cloud.get(id);
        return resource === null ? { found: "none" } : { found: "one", resource };
      },
      async create(ctx, who, spec) {
        const { text: userData } = await ctx.userData();
        return cloud.create({ id: idOf(who), who, spec, userData });
      },
      remove: (_ctx, { id }) => cloud.remove(id),
      list: () => cloud.list(),
    },
  });
}
