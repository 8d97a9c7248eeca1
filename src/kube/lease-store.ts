import { CustomObjectsApi, type KubeConfig, PatchStrategy } from "@kubernetes/client-node";
import { omitUndefined } from "../api/omit-undefined.js";
import { microTime, statusOf, until } from "./requests.js";
import type { LeaseStore, LeaseWrite } from "./lease.js";
import type { LeaseRecord } from "./lease-steps.js";

const group = "coordination.k8s.io";
const version = "v1";
const plural = "leases";

/** The Lease that the replicas of a controller contend for; deploy/kubernetes grants it by name. */
export const leaseName = "capstan-controller";

interface LeaseObject {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly leaseTransitions?: number;
  };
}

/**
 * A Lease in an API server. Writes are merge patches that name the resourceVersion they start from, so
 * that the server refuses them after any other write, and leave labels and annotations alone. Plain
 * objects, not typed ones: the typed client loses the digits of times.
 */
export function leaseInApiServer(
  config: KubeConfig,
  where: { readonly namespace: string; readonly name: string },
): LeaseStore {
  const api = config.makeApiClient(CustomObjectsApi);
  const { namespace, name } = where;
  return {
    read: (signal) =>
      answerOr([404], async () =>
        api.getNamespacedCustomObject({ group, version, namespace, plural, name }, until(signal)),
      ),
    create: (lease, signal) =>
      answerOr([409], async () =>
        api.createNamespacedCustomObject(
          {
            group,
            version,
            namespace,
            plural,
            body: {
              apiVersion: `${group}/${version}`,
              kind: "Lease",
              metadata: { name },
              spec: specOf(lease),
            },
          },
          until(signal),
        ),
      ),
    replace: (resourceVersion, lease, signal) =>
      answerOr([404, 409], async () =>
        api.patchNamespacedCustomObject(
          {
            group,
            version,
            namespace,
            plural,
            name,
            body: { metadata: { resourceVersion }, spec: specOf(lease) },
          },
          until(signal, PatchStrategy.MergePatch),
        ),
      ),
  };
}

function specOf({ holder, durationMs, transitions, renewedAtMs, acquiredAtMs }: LeaseWrite) {
  return omitUndefined({
    holderIdentity: holder,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    leaseTransitions: transitions,
    renewTime: microTime(renewedAtMs),
    acquireTime: acquiredAtMs === undefined ? undefined : microTime(acquiredAtMs),
  });
}

async function answerOr(
  statuses: readonly number[],
  call: () => Promise<unknown>,
): Promise<LeaseRecord | undefined> {
  try {
    return recordOf((await call()) as LeaseObject);
  } catch (error) {
    if (statuses.includes(statusOf(error))) return undefined;
    throw error;
  }
}

function recordOf({ metadata, spec = {} }: LeaseObject): LeaseRecord {
  return {
    uid: metadata.uid,
    version: metadata.resourceVersion,
    holder: spec.holderIdentity ?? "",
    durationMs: (spec.leaseDurationSeconds ?? 0) * 1000,
    transitions: spec.leaseTransitions ?? 0,
  };
}
