// One command's part in a drain: rounds until nothing is in the way of the Node that it is told by a line. Killed whenever somebody likes.

import { createInterface } from "node:readline/promises";
import { setTimeout as wait } from "node:timers/promises";
import { AppsV1Api, CoreV1Api, KubeConfig, StorageV1Api } from "@kubernetes/client-node";
import { HostClearing } from "../../../src/engine/run/host-clearing.js";
import { drainRound } from "../../../src/kube/node-drain.js";
import { attachedVolumes } from "../../../src/kube/node-volumes.js";
import type { WorkloadCluster } from "../../../src/engine/run/workload-cluster.js";
import { nodeKey } from "../../../src/graph/graph.js";
import { deletionTermsOf } from "../../../src/workload/drain/deletion-terms.js";

const [kubeconfig = ""] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(CoreV1Api);
const apps = config.makeApiClient(AppsV1Api);
const storage = config.makeApiClient(StorageV1Api);

const cluster = {
  drain: async ({ name }, rules) =>
    drainRound(await core.readNode({ name }), { core, apps, nowMs: Date.now(), rules }),
  attachedVolumes: async ({ name }, rules) => {
    const access = { core, apps, storage, nowMs: Date.now(), rules };
    return attachedVolumes(await core.readNode({ name }), access);
  },
} as Pick<WorkloadCluster, "drain" | "attachedVolumes"> as WorkloadCluster;

const input = createInterface({ input: process.stdin });
input.once("line", (node) => {
  void drained(node).then(() => process.exit(0));
});

async function drained(name: string): Promise<void> {
  const terms = deletionTermsOf(undefined);
  const host = new HostClearing(nodeKey("Host", name), { name, addresses: [] }, terms, []);
  do {
    process.stdout.write(".");
    await wait(30);
  } while ((await host.next(cluster, Date.now())) !== undefined);
}
