import { omitUndefined } from "../api/omit-undefined.js";
import { keyOf, type NodeKey } from "../graph/graph.js";
import {
  isOpen,
  cloudResources,
  pendingDeletions,
  type PriorState,
} from "../records/prior-state.js";
import type { CloudIdentity, Identity, Observed } from "../provider/port.js";
import { cloudText, isSameCloud } from "../provider/same-cloud.js";
import { isCopyOfDeleted } from "../plan/decisions/copies.js";
import { newerThanRecords } from "../plan/decisions/unrecorded.js";

/** What a sweep has to know about one stack. */
export type StackView =
  | {
      readonly kind: "read";
      readonly stack: string;
      /** The cluster in it; absent for a stack that records none. */
      readonly holds?: {
        readonly clusterUid: string;
        readonly cluster: string;
        readonly provider: string;
        /** Where its resources are; absent where nobody could tell. */
        readonly cloud?: CloudIdentity;
        /** Whether a resource of its life was made after all that the stack tells: then that is an older state. */
        readonly isNewer: (resource: Observed) => boolean;
        /** Whether it is a copy of what the last transaction has deleted for good. */
        readonly isCopy: (resource: Observed) => boolean;
      };
      /** Ids of everything that it records, also as a copy of what is its own. */
      readonly ids: ReadonlySet<string>;
      /** What targets want and pending operations name, by `wantedKey`, each with the reason. */
      readonly wanted: ReadonlyMap<string, string>;
      /** Why nothing of its cluster may be swept now. */
      readonly busy?: string;
      /** Its cluster is not in the cloud that was listed: where it is. */
      readonly elsewhere?: string;
    }
  | { readonly kind: "unreadable"; readonly stack: string; readonly reason: string };

/** What a listing was made of: the name of a provider, and the cloud that it leads to; absent where it cannot tell. */
export interface ListedCloud {
  readonly provider: string;
  readonly cloud?: CloudIdentity | undefined;
}

/** Why nothing is concluded about a stack's cluster from any of these clouds: it is recorded in another one (law 12). Pure. */
export function elsewhereText(
  { holds }: Extract<StackView, { readonly kind: "read" }>,
  clouds: readonly ListedCloud[],
): string | undefined {
  if (holds?.cloud === undefined) return undefined;
  const { cluster, cloud, provider } = holds;
  if (clouds.some((one) => one.provider === provider && isSameCloud(cloud, one.cloud)))
    return undefined;
  return `${cluster} is in ${cloudText(cloud)}, and another cloud answered`;
}

/** A resource by whose life it is and what it is called there. */
export function wantedKey(clusterUid: string, key: NodeKey): string {
  return `${clusterUid} ${key}`;
}

/**
 * The view of a stack's state. `hostKind` is its provider's; `lockedBy` says who works on it, if somebody does. An unfinished
 * transaction keeps the cluster out of a sweep: its own recovery removes what it left. Pure.
 */
export function viewOf(
  stack: string,
  state: PriorState,
  { hostKind, lockedBy }: { readonly hostKind: string; readonly lockedBy?: string | undefined },
): StackView {
  const { transaction } = state;
  const busy = lockedBy ?? unfinished(stack, state);
  return omitUndefined({
    kind: "read",
    stack,
    holds:
      transaction &&
      omitUndefined({
        clusterUid: transaction.clusterUid,
        cluster: transaction.target.cluster,
        provider: transaction.target.provider,
        cloud: transaction.cloud,
        isNewer: (resource) =>
          newerThanRecords(state, { unrecorded: [resource] }, hostKind).length > 0,
        isCopy: (resource) => isCopyOfDeleted(resource, transaction),
      }),
    ids: new Set([
      ...[...cloudResources(state), ...pendingDeletions(state)].flatMap(({ id }) => id ?? []),
      ...(transaction?.copies ?? []),
    ]),
    wanted: wantedBy(stack, state),
    busy,
  });
}

function wantedBy(
  stack: string,
  { pending, transaction, revision }: PriorState,
): Map<string, string> {
  const wanted = new Map<string, string>();
  for (const { key, inputs, type } of pending) {
    const { clusterUid } = (inputs["who"] ?? {}) as Partial<Identity>;
    const uid = clusterUid ?? transaction?.clusterUid;
    if (uid !== undefined)
      wanted.set(wantedKey(uid, key), `an interrupted operation (${type}) names it`);
  }
  if (transaction === undefined) return wanted;
  const nodes = [...(revision?.target.nodes ?? []), ...transaction.target.nodes];
  for (const node of nodes) {
    wanted.set(wantedKey(transaction.clusterUid, keyOf(node)), `${stack} wants one of its name`);
  }
  for (const key of transaction.letGo ?? []) {
    wanted.set(wantedKey(transaction.clusterUid, key), `${stack} is to take its marks off`);
  }
  return wanted;
}

function unfinished(stack: string, state: PriorState): string | undefined {
  if (state.transaction === undefined || !isOpen(state)) return undefined;
  return `transaction ${state.transaction.number} of ${stack} is not finished`;
}
