/** What a host does first: it begins the cluster, or joins it. */
export type BootstrapKind = "init" | "joinControlPlane" | "joinWorker";

/** What the records say of a machine's cluster when its host is made. */
interface MemberRecords {
  readonly controlPlane: boolean;
  /** Whether another control-plane member has a host, in whatever phase: recorded, or found in the cloud. */
  readonly hasOtherMember: boolean;
  /** Whether a control plane has run: a revision with one was committed, or a worker has a host. */
  readonly hasRun: boolean;
}

/**
 * What the host of a machine does first; `lost` where the control plane has run, and no member of it is left to join.
 * The first wave of a cluster makes one member, and everything else only after that was ready: so another
 * member's host proves that there is a cluster to join. Pure. Source: docs/adr/0020.
 */
export function bootstrapKindOf(records: MemberRecords & { hasRun: false }): BootstrapKind;
export function bootstrapKindOf(records: MemberRecords): BootstrapKind | "lost";
export function bootstrapKindOf({
  controlPlane,
  hasOtherMember,
  hasRun,
}: MemberRecords): BootstrapKind | "lost" {
  if (!controlPlane) return "joinWorker";
  if (hasOtherMember) return "joinControlPlane";
  return hasRun ? "lost" : "init";
}
