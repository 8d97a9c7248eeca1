import { CapstanError } from "../api/error.js";
import { clusterNameOf, type Desired } from "../api/types.js";
import { makePlan, type Plan } from "../plan/plan.js";
import type { CallContext, InfrastructureProvider, Observed } from "../provider/port.js";
import { look, type Look } from "./look.js";
import type { StackState } from "./state.js";

export interface SurveyInput {
  readonly desired: Desired;
  readonly provider: InfrastructureProvider;
  readonly state: StackState;
  readonly context: CallContext;
  /** Take over what the cloud holds of this cluster although the state knows nothing of it. */
  readonly adopt: boolean;
  /** Mints a cluster UID; called once, for a cluster without state. */
  newClusterUid(): string;
  readonly owner: string;
}

/** State and cloud looked at together, and the plan that follows. Changes nothing. */
export async function survey(input: SurveyInput): Promise<{ plan: Plan; seen: Look }> {
  const { desired, provider, state, context } = input;
  const cluster = clusterNameOf(desired.cluster);
  const known = state.transaction?.clusterUid;
  const scope = known === undefined ? { cluster } : { cluster, clusterUid: known };
  const seen = await look(provider, context, scope, state);
  const plan = makePlan({
    desired,
    provider,
    prior: state,
    ...seen,
    newClusterUid: known ?? adoptedUid(input, seen.strangers) ?? input.newClusterUid(),
    nowMs: context.clock.now(),
    owner: input.owner,
  });
  return { plan, seen };
}

/**
 * Without state, resources that carry the cluster's name belong to somebody's lost state, or to
 * somebody else's cluster of that name: a person has to say which. Throws AMBIGUOUS_OWNER.
 */
export function adoptedUid(
  input: Pick<SurveyInput, "desired" | "adopt">,
  strangers: readonly Observed[],
): string | undefined {
  const alive = strangers.filter(({ phase }) => phase !== "gone");
  const uids = [...new Set(alive.map(({ who }) => who.clusterUid))];
  const [only] = uids;
  if (only === undefined) return undefined;
  if (input.adopt && uids.length === 1) return only;
  const cluster = clusterNameOf(input.desired.cluster);
  throw new CapstanError({
    code: "AMBIGUOUS_OWNER",
    source: "user",
    subject: cluster,
    message: `cannot create ${cluster}: the cloud holds ${alive.length} resources of ${uids.length === 1 ? "a cluster" : `${uids.length} clusters`} of that name, and this state knows none of them`,
    hint:
      uids.length === 1
        ? "use the state that they belong to, or take them over with --adopt"
        : "use the states that they belong to; nothing was changed",
  });
}
