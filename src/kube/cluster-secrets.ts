import { type JsonObject, sameJson } from "../api/json.js";
import { apiGroup } from "../api/kind-names.js";
import { apiVersion } from "../api/schema.js";
import { type ClusterSecret, secretLabel } from "../bootstrap/certificates/secrets.js";
import {
  isDeleting,
  type LiveMetadata,
  type LiveObject,
  type OwnerReference,
} from "./live-object.js";
import { mergePatch } from "./merge-patch.js";

/** A Secret as an API server has it. A secret as a whole, but for its metadata. */
export interface LiveSecret {
  readonly metadata: LiveMetadata;
  readonly type?: string;
  /** In base64. */
  readonly data?: Readonly<Record<string, string>>;
}

/** A Secret of ours before an API server has it. */
type NewSecret = ClusterSecret & {
  readonly metadata: { readonly ownerReferences: readonly OwnerReference[] };
};

/** One write of a Secret. What is changed has to be as it was read. */
export type SecretWrite =
  | { readonly kind: "create"; readonly secret: NewSecret }
  | { readonly kind: "patch"; readonly on: LiveSecret; readonly patch: JsonObject };

/** "default/prod-ca". Unique in an API server. */
export function secretNameOf({
  metadata,
}: {
  readonly metadata: Pick<LiveMetadata, "name" | "namespace">;
}): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/**
 * Whether a Secret was made by us for a Cluster of this name, be it for one that is gone: only such ones are written.
 * Without an owner it is somebody's own. Pure.
 */
export function isOwned({ metadata }: LiveSecret, cluster: Pick<LiveObject, "metadata">): boolean {
  return (metadata.ownerReferences ?? []).some(
    (owner) =>
      owner.kind === "Cluster" &&
      owner.apiVersion.startsWith(`${apiGroup}/`) &&
      owner.name === cluster.metadata.name,
  );
}

/** Whether it belongs to an object of Cluster API. Pure. */
export function isOfClusterApi({ metadata }: LiveSecret): boolean {
  return (metadata.ownerReferences ?? []).some((owner) =>
    /(^|\.)cluster\.x-k8s\.io\//.test(owner.apiVersion),
  );
}

/** The write that makes a Secret what it is to be; none where it is, or is somebody else's. Pure. */
export function secretWrites(
  wanted: ClusterSecret,
  live: LiveSecret | undefined,
  cluster: LiveObject,
): SecretWrite[] {
  const { name, uid } = cluster.metadata;
  const owner = { apiVersion, kind: "Cluster", name, uid, controller: true };
  if (live === undefined) {
    const metadata = { ...wanted.metadata, ownerReferences: [owner] };
    return [{ kind: "create", secret: { ...wanted, metadata } }];
  }
  if (!isOwned(live, cluster) || isDeleting(live)) return [];
  const { metadata, data = {} } = live;
  const isHere = metadata.ownerReferences?.some((one) => one.uid === uid) === true;
  const patch = mergePatch(
    { metadata, data },
    {
      metadata: {
        ...metadata,
        labels: { ...metadata.labels, [secretLabel]: name },
        ownerReferences: isHere ? metadata.ownerReferences : [owner],
      },
      data: wanted.data,
    },
  );
  if (patch === undefined) return [];
  const bound = { ...(patch["metadata"] as JsonObject), resourceVersion: metadata.resourceVersion };
  return [{ kind: "patch", on: live, patch: { ...patch, metadata: bound } }];
}

/** Whether somebody else's Secret stands where one of ours should, and holds something else. Pure. */
export function isConflicting(
  wanted: ClusterSecret,
  live: LiveSecret | undefined,
  cluster: LiveObject,
): boolean {
  if (live === undefined || isOwned(live, cluster)) return false;
  const { data = {} } = live;
  return Object.entries(wanted.data).some(([member, text]) => !sameJson(data[member], text));
}
