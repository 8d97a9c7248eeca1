import { CoordinationV1Api, CoreV1Api } from "@kubernetes/client-node";
import { kinds } from "../../src/api/kind-names.js";
import { KubeApi } from "../../src/kube/api.js";
import type { ApiServer } from "../support/api-server.js";
import { until } from "./until.js";

const namespace = "default";

/**
 * Removes all that a controller and a test have left of our kinds, and the Secrets, Leases and Events of
 * the default namespace. No controller of ours may run: finalizers are removed without the work that
 * they stand for.
 */
export async function clearServer(server: ApiServer): Promise<void> {
  const api = new KubeApi(server.config);
  const left = async () => {
    const lists = await Promise.all(kinds.map((kind) => api.list(kind)));
    return lists.flatMap(({ items }) => items);
  };
  await until("no object of our kinds is left", async () => {
    const objects = await left();
    for (const on of objects) {
      await api.write({ kind: "delete", on });
      await api.write({ kind: "patch", on, patch: { metadata: { finalizers: null } } });
    }
    return objects.length === 0;
  });
  const core = server.config.makeApiClient(CoreV1Api);
  await core.deleteCollectionNamespacedSecret({ namespace });
  await core.deleteCollectionNamespacedEvent({ namespace });
  const coordination = server.config.makeApiClient(CoordinationV1Api);
  await coordination.deleteCollectionNamespacedLease({ namespace });
}
