import { keyOf, type NodeKey } from "../graph/graph.js";
import { cloudResources, isOpen, type PriorState } from "./prior-state.js";

/** The output that holds the number of the last transaction whose change in place was finished; absent before the first one. */
export const updatedByProperty = "updatedBy";

/**
 * Recorded resources whose change in place the open transaction, or one before it that it took the place of, has planned and none
 * has finished; of a committed one those whose deletion it owes. An engine may have been killed
 * between the calls of that change, so the phase of such a resource says nothing about its health. Pure.
 * Source: docs/adr/0056.
 */
export function openUpdates(prior: PriorState): ReadonlySet<NodeKey> {
  const { transaction } = prior;
  if (transaction === undefined) return new Set();
  const { number, updates, target } = transaction;
  const finished = cloudResources(prior).filter(
    ({ outputs }) => outputs[updatedByProperty] === number,
  );
  const open = new Set(updates);
  for (const { key } of finished) open.delete(key);
  // What a committed one wants it has brought about.
  if (!isOpen(prior)) for (const node of target.nodes) open.delete(keyOf(node));
  return open;
}
