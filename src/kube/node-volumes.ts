import type {
  CoreV1Api,
  StorageV1Api,
  V1Node,
  V1PersistentVolume,
  V1Pod,
} from "@kubernetes/client-node";
import { omitUndefined } from "../api/omit-undefined.js";
import { type KnownVolume, volumesToDetach } from "../workload/drain/attached-volumes.js";
import { canBeReached, type DrainAccess, podsOn } from "./node-drain.js";
import { within } from "./requests.js";

/**
 * Volumes that are to be detached from a Node before its host goes, as `volumesToDetach` names them. None of one that does not
 * answer: nobody detaches them there. Throws what the API server refuses.
 */
export async function attachedVolumes(
  node: V1Node,
  { storage, ...access }: DrainAccess & { readonly storage: StorageV1Api },
): Promise<string[]> {
  if (!canBeReached(node)) return [];
  const onNode = node.status?.volumesAttached?.map(({ name }) => name) ?? [];
  const persistentVolumes = await volumesAttachedTo(node, storage);
  if (onNode.length + persistentVolumes.length === 0) return [];
  const [known, pods] = await Promise.all([knownVolumes(access.core), podsOn(node, access)]);
  const kept = pods
    .filter(({ verdict }) => verdict.kind === "skip")
    .flatMap(({ item }) => claimsOf(item));
  return volumesToDetach({ onNode, persistentVolumes }, known, new Set(kept));
}

async function volumesAttachedTo({ metadata }: V1Node, storage: StorageV1Api): Promise<string[]> {
  const { items } = await storage.listVolumeAttachment({}, within());
  return items
    .filter(({ spec, status }) => spec.nodeName === metadata?.name && status?.attached === true)
    .map(({ spec, metadata: own }) => {
      const { persistentVolumeName } = spec.source;
      // One of a volume that stands in a pod has no name but its own.
      return persistentVolumeName ?? `VolumeAttachment ${own?.name ?? ""}`;
    });
}

async function knownVolumes(core: CoreV1Api): Promise<KnownVolume[]> {
  const { items } = await core.listPersistentVolume({}, within());
  return items.map(knownVolumeOf);
}

function knownVolumeOf({ metadata, spec }: V1PersistentVolume): KnownVolume {
  const csi = spec?.csi;
  const claimRef = spec?.claimRef;
  const isClaimed = claimRef !== undefined && (claimRef.kind ?? claimKind) === claimKind;
  return omitUndefined({
    name: metadata?.name ?? "",
    csi: csi && { driver: csi.driver, handle: csi.volumeHandle },
    claim: isClaimed ? `${claimRef.namespace ?? ""}/${claimRef.name ?? ""}` : undefined,
  });
}

const claimKind = "PersistentVolumeClaim";

/** That of a generic ephemeral volume is called after its pod. */
function claimsOf({ metadata, spec }: V1Pod): string[] {
  const names = spec?.volumes?.flatMap(({ name, ephemeral, persistentVolumeClaim }) => {
    if (ephemeral !== undefined) return [`${metadata?.name ?? ""}-${name}`];
    return persistentVolumeClaim?.claimName ?? [];
  });
  return names?.map((name) => `${metadata?.namespace ?? ""}/${name}`) ?? [];
}
