import { externalSpecOf } from "../graph/graph.js";
import type { LeftoverScope } from "../provider/leftovers.js";
import { cloudResources, type PriorState } from "./prior-state.js";

/**
 * Where to look for what a cluster's controllers have left: among what is recorded of it, and what it uses of others. A
 * destroy that has begun wants nothing any more, so what it used stands in the last revision alone. Pure.
 */
export function leftoverScopeOf(prior: PriorState): LeftoverScope {
  const { transaction, revision } = prior;
  if (transaction === undefined)
    throw new Error("of what is not recorded nobody knows the leftovers");
  const { clusterUid, target } = transaction;
  const externals = target.externals ?? revision?.target.externals ?? [];
  return {
    cluster: target.cluster,
    clusterUid,
    places: [
      ...cloudResources(prior).flatMap(({ kind, id }) =>
        id === undefined ? [] : [{ kind, id, isOurs: true }],
      ),
      ...externals.map((node) => ({ kind: node.kind, id: externalSpecOf(node).id, isOurs: false })),
    ],
  };
}
