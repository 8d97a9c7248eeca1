import { keyOf } from "../../graph/graph.js";
import type { Observed } from "../../provider/port.js";
import { cloudResources, type PriorState } from "../../records/prior-state.js";
import type { TransactionRecord } from "../../records/transaction.js";
import type { ObservedResources } from "../observation.js";
import { isHostKey } from "../../records/host-name.js";

/**
 * What bears the marks of a recorded resource beside the living one itself: somebody has copied that with its marks, as by
 * "launch more like this" or a restored snapshot. No apply of ours makes a second one of a name, so it is neither found again nor
 * deleted as left by one; what was taken for a copy once stays one when its original goes, and so does what has come since the transaction
 * began that deletes its original. Pure.
 */
export function copiesAmong(
  unrecorded: readonly Observed[],
  prior: PriorState,
  observedResources: ObservedResources,
  hostKind: string,
): Observed[] {
  const { transaction } = prior;
  if (transaction === undefined) return [];
  const { clusterUid, copies } = transaction;
  const known = new Set(copies);
  const alive = unrecorded.filter(
    ({ phase, who }) => phase !== "gone" && who.clusterUid === clusterUid,
  );
  const recorded = cloudResources(prior).map(({ key }) => key);
  // A copy can be copied as well.
  const originals = new Set([
    // The name of a host is used once, so that no second one of it is ours even when the first is gone.
    ...recorded.filter((key) => isHostKey(key, hostKind) || observedResources.get(key) !== "gone"),
    ...alive.filter(({ id }) => known.has(id)).map(({ who }) => keyOf(who)),
  ]);
  return alive.filter((one) => originals.has(keyOf(one.who)) || isCopyOfDeleted(one, transaction));
}

/** Whether a resource bears the marks of one that a transaction deletes for good, and is another one. Pure. */
export function isCopyOfDeleted(
  { id, who }: Pick<Observed, "id" | "who">,
  { clusterUid, deletedIds = {} }: Pick<TransactionRecord, "clusterUid" | "deletedIds">,
): boolean {
  const deleted = who.clusterUid === clusterUid ? deletedIds[keyOf(who)] : undefined;
  return deleted !== undefined && deleted !== id;
}
