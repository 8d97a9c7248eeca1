/** What says that volumes are attached to a Node. */
export interface Attachments {
  /** `status.volumesAttached` of the Node: "kubernetes.io/csi/<driver>^<handle>". */
  readonly onNode: readonly string[];
  /** Names of PersistentVolumes that VolumeAttachments have attached to it. */
  readonly persistentVolumes: readonly string[];
}

/** A PersistentVolume, as far as detaching it goes. */
export interface KnownVolume {
  readonly name: string;
  readonly csi?: { readonly driver: string; readonly handle: string };
  /** "<namespace>/<name>" of the PersistentVolumeClaim that it is bound to. */
  readonly claim?: string;
}

/**
 * What is still to be detached before a Node's host goes, sorted: claims as "<namespace>/<name>", and volumes of which
 * no claim is known by their own names. `keptClaims`: of pods that stay until the host goes, which keep their volumes for as
 * long. Pure. Source: docs/cluster-api.md#deletion.
 */
export function volumesToDetach(
  { onNode, persistentVolumes }: Attachments,
  known: readonly KnownVolume[],
  keptClaims: ReadonlySet<string>,
): string[] {
  const attached = known.flatMap(({ name, csi, claim }) => {
    const names = [
      ...persistentVolumes.filter((one) => one === name),
      ...onNode.filter((one) => csi !== undefined && one === csiName(csi)),
    ];
    return names.length === 0 ? [] : [{ names, name, claim }];
  });
  const matched = new Set(attached.flatMap(({ names }) => names));
  const unmatched = [...onNode, ...persistentVolumes].filter((one) => !matched.has(one));
  const waitedFor = attached.filter(({ claim }) => claim === undefined || !keptClaims.has(claim));
  return [...new Set([...waitedFor.map(({ name, claim }) => claim ?? name), ...unmatched])].sort();
}

/** As Nodes call it. */
function csiName({ driver, handle }: NonNullable<KnownVolume["csi"]>): string {
  return `kubernetes.io/csi/${driver}^${handle}`;
}
