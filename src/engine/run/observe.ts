import { expectDefined, isCapstanError } from "../../api/error.js";
import { sameJson } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { mapBounded } from "../../provider/bounded.js";
import { keyOf, type NodeKey } from "../../graph/graph.js";
import { isKept } from "../../dynamic/protocol.js";
import { acceptedIn } from "../../dynamic/recorded.js";
import { unknownPresence } from "../../dynamic/resource-refusals.js";
import { copiesAmong } from "../../plan/decisions/copies.js";
import { recordedHostOf } from "../../plan/decisions/satellites.js";
import { hostKeysInName } from "../../records/host-name.js";
import { asHalfChanged, type Observation, type ObservedResource } from "../../plan/observation.js";
import { openUpdates } from "../../records/open-updates.js";
import {
  cloudResources,
  knownSpecs,
  type PriorState,
  recordedIdentity,
  type RecordedResource,
} from "../../records/prior-state.js";
import { acceptanceOf, presenceOf } from "../../provider/operations.js";
import { type Backoff, backoffMsAfter } from "../../provider/backoff.js";
import type {
  CallContext,
  CloudIdentity,
  Found,
  InfrastructureProvider,
  InventoryScope,
  Observed,
  Presence,
  ResourceHandler,
  Wanted,
} from "../../provider/port.js";
import { cloudOf, refuseWrongCloud } from "../../provider/same-cloud.js";
import { asKnown, unobservableOf } from "../../provider/unobservable.js";

export type { Observation };

/** As many as a cloud answers without asking to slow down. */
export const looksAtATime = 8;

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
  // Of several records with one id the listing shows the first.
  const shown = new Set(new Map(recorded.toReversed().map((one) => [one.id, one])).values());
  const isListed = (one: RecordedResource) => shown.has(one) && byId.has(one.id ?? "");
  const unlisted = await locateUnlisted(
    provider,
    ctx,
    recorded.filter((one) => !isListed(one)),
  );
  const letGo = new Set(prior.transaction?.letGo);
  const isShownGone = ({ id = "" }: RecordedResource) => byId.get(id)?.phase === "gone";
  const isGone = (one: RecordedResource) => unlisted.get(one.key) === "gone" || isShownGone(one);
  const gone = new Set(recorded.filter(isGone).map(({ key }) => key));
  const keys = new Set(recorded.map(({ key }) => key));
  // After its host nothing of it is ours any more, as a state finds out that is older than that.
  const hasOutlived = (one: RecordedResource) => {
    if (!isKept(one.inputs)) return false;
    const host = recordedHostOf(one, provider);
    if (host !== undefined) return gone.has(host);
    // The pass that deletes its host registers it as depending on nothing that goes.
    const hosts = hostKeysInName(one.name, provider.hostKind);
    return hosts.every((key) => gone.has(key) || !keys.has(key));
  };
  const lost = recorded.filter(
    (one) => unlisted.get(one.key) === "gone" && !letGo.has(one.key) && !hasOutlived(one),
  );
  await mapBounded(lost, looksAtATime, (one) => refuseUnmarked(provider, ctx, one));
  const observedResources = new Map<NodeKey, ObservedResource>();
  const known = knownSpecs(prior);
  const asIs = (resource: Observed) =>
    asKnown(resource, unobservableOf(provider, resource.who.kind), known.get(keyOf(resource.who)));
  const open = openUpdates(prior);
  for (const { key, id = "" } of recorded) {
    const observed = unlisted.get(key) ?? expectDefined(byId.get(id), `sight of ${key}`);
    byId.delete(id);
    if (observed === "gone" || observed.phase === "gone") observedResources.set(key, "gone");
    else observedResources.set(key, open.has(key) ? asHalfChanged(asIs(observed)) : asIs(observed));
  }
  // Credentials may change at any time: what is not there must not have been looked for elsewhere.
  if ([...observedResources.values()].includes("gone") || listing.length === 0) {
    await provenCloud(provider, ctx, scope.cluster, answered);
  }
  const others = [...byId.values()].map(asIs);
  const copies = copiesAmong(others, prior, observedResources, provider.hostKind);
  return omitUndefined({
    observedResources,
    unrecorded: others.filter((one) => !copies.includes(one)),
    copies: copies.length === 0 ? undefined : copies,
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

/** What the listing does not show, asked for by kind. Throws UNKNOWN_PRESENCE at the first that nobody can tell. */
async function locateUnlisted(
  provider: InfrastructureProvider,
  ctx: CallContext,
  unlisted: readonly RecordedResource[],
): Promise<ReadonlyMap<NodeKey, ObservedResource>> {
  const found = new Map<NodeKey, ObservedResource>();
  for (const kind of new Set(unlisted.map((resource) => resource.kind))) {
    const resources = unlisted.filter((resource) => resource.kind === kind);
    const sights = await locateAll(provider, ctx, resources, provider.handlers.get(kind));
    for (const [key, observed] of sights) found.set(key, observed);
  }
  return found;
}

/**
 * What bears our marks no more is gone to `locate`, and lives on all the same: whoever took it for gone would make a second one and
 * delete what the first one uses. Throws UNKNOWN_PRESENCE.
 */
async function refuseUnmarked(
  { handlers }: Pick<InfrastructureProvider, "handlers">,
  ctx: CallContext,
  resource: RecordedResource,
): Promise<void> {
  const { kind, id } = resource;
  if (id === undefined) return;
  const found = await reading(ctx, async () => handlers.get(kind)?.find?.(ctx, id));
  if (found === undefined || found.phase === "gone") return;
  throw unknownPresence(kind, resource, `${id} is there and ${marksText(found, resource)}`);
}

function marksText({ who }: Found, resource: RecordedResource): string {
  if (sameJson(who, recordedIdentity(resource))) return "is not found by its marks";
  const bears =
    who === undefined
      ? "bears no marks of ours any more"
      : `bears those of ${who.name} of ${who.cluster}`;
  return `${bears}: give it its own back, or delete it; where it was let go, take its record out (pulumi state delete '${resource.urn}')`;
}

/** Of one kind, in the order of the resources. */
async function locateAll(
  { name }: Pick<InfrastructureProvider, "name">,
  ctx: CallContext,
  resources: readonly RecordedResource[],
  handler: ResourceHandler | undefined,
): Promise<readonly (readonly [NodeKey, ObservedResource])[]> {
  if (handler?.locateMany === undefined) {
    return mapBounded(resources, looksAtATime, async (resource) => {
      const { who, id } = wantedOf(resource);
      const presence = await reading(ctx, async () => handler?.locate(ctx, who, id));
      const known = await unlessAccepted(ctx, handler, presence, resource);
      return [resource.key, observedIn(known, resource, name)] as const;
    });
  }
  const wanted = resources.map(wantedOf);
  const presences = await reading(ctx, async () => handler.locateMany?.(ctx, wanted));
  const answered = resources.map((resource, index) => ({
    resource,
    presence: presences?.length === resources.length ? presences[index] : undefined,
  }));
  return mapBounded(answered, looksAtATime, async ({ resource, presence }) => {
    const known = await unlessAccepted(ctx, handler, asAsked(presence, resource), resource);
    return [resource.key, observedIn(known, resource, name)] as const;
  });
}

/** What does not show is gone only if the cloud is not still making it, or has refused to. */
async function unlessAccepted(
  ctx: CallContext,
  handler: ResourceHandler | undefined,
  presence: Presence | undefined,
  resource: RecordedResource,
): Promise<Presence | undefined> {
  const { id, outputs } = resource;
  const accepted = id && acceptedIn(id, recordedIdentity(resource), outputs);
  if (presence?.found !== "none" || handler === undefined || !accepted) return presence;
  return presenceOf(accepted, await reading(ctx, () => acceptanceOf(ctx, handler, accepted)));
}

/** Law 6: an answer about another resource than the one that was asked for, in an order of its own, tells nothing. */
function asAsked(presence: Presence | undefined, resource: RecordedResource): Presence | undefined {
  const isOther =
    presence?.found === "one" &&
    (resource.id === undefined
      ? !sameJson(presence.resource.who, recordedIdentity(resource))
      : presence.resource.id !== resource.id);
  return isOther
    ? { found: "unknown", reason: "its provider answers about another one" }
    : presence;
}

function wantedOf(resource: RecordedResource): Wanted {
  return omitUndefined({ who: recordedIdentity(resource), id: resource.id });
}

function observedIn(
  presence: Presence | undefined,
  resource: RecordedResource,
  providerName: string,
): ObservedResource {
  if (presence?.found === "one") return presence.resource;
  if (presence?.found === "none") return "gone";
  const reason =
    presence?.found === "unknown"
      ? presence.reason
      : presence?.found === "many"
        ? `several carry its identity (${presence.ids.join(", ")})`
        : `provider ${providerName} does not tell of ${resource.kind}`;
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
      await clock.sleep(backoffMsAfter(error, readBackoff, failures), signal);
    }
  }
}
