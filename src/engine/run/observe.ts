import { isCapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { mapBounded } from "../../provider/bounded.js";
import type { NodeKey } from "../../graph/graph.js";
import { unknownPresence } from "../../dynamic/resource-refusals.js";
import type { Observation, ObservedResource } from "../../plan/observation.js";
import {
  cloudResources,
  type PriorState,
  recordedIdentity,
  type RecordedResource,
} from "../../records/prior-state.js";
import { type Backoff, backoffMs } from "../../provider/backoff.js";
import type {
  CallContext,
  CloudIdentity,
  InfrastructureProvider,
  InventoryScope,
  Observed,
} from "../../provider/port.js";
import { cloudOf, refuseWrongCloud } from "../../provider/same-cloud.js";

export type { Observation };

/** As many as a cloud answers without asking to slow down. */
const looksAtATime = 8;

/**
 * One listing, then a look at each recorded resource that the listing does not show, since listings
 * lag: "gone" is positive knowledge. Before that, and after it where anything seems gone, the cloud is
 * compared with `cloud`, or with the recorded one unless given. Throws WRONG_CLOUD, and UNKNOWN_PRESENCE
 * when the cloud cannot say.
 */
export async function observe(
  provider: InfrastructureProvider,
  ctx: CallContext,
  scope: InventoryScope,
  prior: PriorState,
  cloud = prior.transaction?.cloud,
): Promise<Observation> {
  const answered = await provenCloud(provider, ctx, scope.cluster, cloud);
  const listing = await reading(ctx, () => provider.inventory(ctx, scope));
  const byId = new Map(listing.map((observed) => [observed.id, observed]));
  const recorded = cloudResources(prior);
  const listed = recorded.filter(({ id = "" }) => byId.has(id)).length;
  const seen = await mapBounded(recorded, looksAtATime, async (resource) => {
    const listedOne = byId.get(resource.id ?? "");
    return listedOne ?? locateUnlisted(provider, ctx, resource);
  });
  const observedResources = new Map<NodeKey, ObservedResource>();
  for (const [index, { key, id = "" }] of recorded.entries()) {
    const observed = seen[index] as ObservedResource;
    observedResources.set(
      key,
      observed === "gone" || observed.phase === "gone" ? "gone" : observed,
    );
    byId.delete(id);
  }
  // Credentials may change at any time: what is not there must not have been looked for elsewhere.
  if ([...observedResources.values()].includes("gone") || listing.length === 0) {
    await provenCloud(provider, ctx, scope.cluster, answered);
  }
  return omitUndefined({
    observedResources,
    unrecorded: [...byId.values()],
    listed,
    cloud: answered,
  });
}

/**
 * The whole listing of a cluster, gone ones included, from the cloud that is recorded and no other. Throws
 * WRONG_CLOUD, and what the listing failed with.
 */
export async function listProven(
  provider: InfrastructureProvider,
  ctx: CallContext,
  scope: InventoryScope,
  cloud: CloudIdentity | undefined,
): Promise<readonly Observed[]> {
  const answered = await provenCloud(provider, ctx, scope.cluster, cloud);
  const listing = await provider.inventory(ctx, scope);
  await provenCloud(provider, ctx, scope.cluster, answered);
  return listing;
}

/** The cloud that answers, if it is the recorded one; nothing of a provider that cannot tell. Throws WRONG_CLOUD. */
export async function provenCloud(
  provider: InfrastructureProvider,
  ctx: CallContext,
  subject: string,
  recorded: CloudIdentity | undefined,
): Promise<CloudIdentity | undefined> {
  const answered = await reading(ctx, () => cloudOf(provider, ctx));
  refuseWrongCloud(subject, recorded, answered);
  return answered;
}

async function locateUnlisted(
  provider: InfrastructureProvider,
  ctx: CallContext,
  resource: RecordedResource,
): Promise<ObservedResource> {
  const handler = provider.handlers.get(resource.kind);
  const who = recordedIdentity(resource);
  const presence = await reading(ctx, async () => handler?.locate(ctx, who, resource.id));
  if (presence?.found === "one") return presence.resource;
  if (presence?.found === "none") return "gone";
  const reason =
    presence?.found === "unknown"
      ? presence.reason
      : presence?.found === "many"
        ? `several carry its identity (${presence.ids.join(", ")})`
        : `provider ${provider.name} does not serve ${resource.kind}`;
  throw unknownPresence(resource.kind, resource, reason);
}

const readBackoff: Backoff = { firstMs: 100, factor: 2, maxMs: 1_600 };
const mostReadRetries = 5;

/** A question to the cloud, asked again for a few seconds when it fails: it changes nothing. */
export async function reading<T>(
  { clock, signal }: CallContext,
  ask: () => Promise<T>,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await ask();
    } catch (error) {
      const passing = isCapstanError(error) && (error.retryable || error.code === "CLOUD_FAILED");
      if (!passing || failures > mostReadRetries || signal.aborted) throw error;
      await clock.sleep(backoffMs(readBackoff, failures), signal);
    }
  }
}
