import { lookupWishOf } from "../../api/refresh-lookups.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { Desired } from "../../api/types.js";
import type { Manifests } from "../../manifest/desired.js";
import type { PlanInput } from "../../plan/plan-input.js";
import type { CallContext, InfrastructureProvider, Lookups } from "../../provider/port.js";
import type { PriorState } from "../../records/prior-state.js";
import { clusterIn } from "../../records/target.js";
import { externalsOf, readExternals, refuseUnusable } from "./externals.js";
import { lookedUp } from "./lookups.js";
import { withPlaces } from "./placed-refusal.js";

interface FactsRequest {
  readonly desired: Desired;
  readonly positionOf: Manifests["positionOf"];
  readonly provider: InfrastructureProvider;
  readonly prior: PriorState;
  readonly context: CallContext;
  /** What is recorded counts no more. */
  readonly refresh?: boolean;
  /** Answers of a plan that was agreed to: they count before all others. */
  readonly answers?: Lookups;
}

/** What a plan is told of the cloud beside its resources. */
export type FoundFacts = Pick<PlanInput, "lookups" | "externals" | "refreshesExternals">;

/**
 * Everything that has to be known before objects are compiled: answers to what the provider looks up, and what is used
 * and not ours. Only reads, and asks nothing of a provider that looks nothing up. Throws what a question failed with,
 * RefusedChange for what cannot be used, and UNKNOWN_PRESENCE.
 */
export async function findFacts(request: FactsRequest): Promise<FoundFacts> {
  const { desired, positionOf, provider, prior, context } = request;
  const { cluster } = desired;
  const refresh = request.refresh === true || isAskedAnew(request);
  const lookups = await lookedUp({ ...request, refresh });
  const nodes = externalsOf(provider, cluster, lookups);
  if (nodes.length === 0) return { lookups };
  const read = await readExternals(nodes, provider, context);
  withPlaces(desired, positionOf, () => {
    refuseUnusable(nodes, read, { prior, cluster });
  });
  return omitUndefined({
    lookups,
    externals: read.sights,
    refreshesExternals: refresh ? true : undefined,
  });
}

/** The annotation of the Cluster says something else than when its objects were recorded. */
function isAskedAnew({ desired: { cluster }, prior: { transaction } }: FactsRequest): boolean {
  const asked = lookupWishOf(cluster);
  if (asked === undefined || transaction === undefined) return false;
  return asked !== lookupWishOf(clusterIn(transaction.target));
}
