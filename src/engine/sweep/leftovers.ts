import { isCapstanError, messageOf } from "../../api/error.js";
import type { CallContext, InfrastructureProvider } from "../../provider/port.js";
import {
  type KnownCluster,
  knownClusters,
  type NotedCluster,
  usedProviders,
} from "../../sweep/clusters.js";
import {
  confirmed,
  decideSweep,
  type Listing,
  type SweepConsent,
  type SweepItem,
} from "../../sweep/decide.js";
import { elsewhereText, type StackView, viewOf } from "../../sweep/stack-view.js";
import { goneClusters } from "../../sweep/gone-clusters.js";
import { mapBounded } from "../../provider/bounded.js";
import { notedClusters } from "../backend/cluster-registry.js";
import { type GoneLeftover, leftByControllers } from "./gone-leftovers.js";
import type { Engine } from "../pulumi/engine.js";
import { StackLock } from "../locks/lock.js";
import {
  boundProvider,
  type BoundProviders,
  type ReachedCloud,
  reachedClouds,
} from "./reached-clouds.js";

export interface LeftoverOptions {
  readonly engine: Pick<Engine, "readState"> & { readonly stacks: Pick<Engine["stacks"], "list"> };
  readonly stateDir: string;
  /** `Workspace.backendKey`. */
  readonly backend: string;
  readonly providers: readonly InfrastructureProvider[];
  readonly context: CallContext;
  readonly graceMs: number;
  readonly consent: SweepConsent;
}

/** A provider that clusters are on and that was not looked at. */
interface NotListed {
  readonly provider: string;
  /** `failed`: the next look may succeed. `unable`: no look will. */
  readonly kind: "failed" | "unable";
  readonly reason: string;
}

/** A look at everything that clusters of a backend own. */
export interface LeftoverReport {
  readonly items: readonly SweepItem[];
  readonly clusters: readonly KnownCluster[];
  readonly notListed: readonly NotListed[];
  readonly unreadable: readonly { readonly stack: string; readonly reason: string }[];
  /** What controllers of clusters that are gone have left; it bears no marks, and is told only. */
  readonly byControllers: readonly GoneLeftover[];
  readonly seen: LeftoverReading;
}

/** What a provider listed, and which one: with the credentials of the process, or with those of a Cluster. */
interface OwnListing extends Listing {
  readonly by: InfrastructureProvider;
}

/** What a second look starts from. */
interface LeftoverReading {
  readonly views: readonly StackView[];
  readonly listings: readonly OwnListing[];
}

/** States read at a time: each takes a process of Pulumi's. */
const readersAtATime = 4;

/**
 * Reads every stack of the backend, lists what their providers hold, and decides. Changes nothing. The
 * stacks of clusters with leftovers are read again after the listing, so that what was recorded in
 * between is not taken for a leftover. Providers are asked with the credentials of the process and with those that Clusters of stacks
 * name; clusters in another cloud than those that answer are left alone.
 * Throws WRONG_CLOUD when all of a provider's is, and when stacks or registry cannot be listed.
 */
export async function findLeftovers(options: LeftoverOptions): Promise<LeftoverReport> {
  const noted = notedClusters(options.stateDir);
  const stacks = await options.engine.stacks.list();
  const { views, bound } = await readViews(stacks, options, "peek");
  const names = usedProviders(noted, options.backend, views);
  const clouds = await reachedClouds(names, views, bound, options);
  const { listings, notListed } = await listOwned(clouds, options);
  const reached = views.map((view) => withinReach(view, clouds));
  const elsewhere = reached.flatMap(notReached);
  const inside = await leftByControllers(goneClusters(noted, options.backend, views), options);
  const unanswered = inside.failed.map((one) => ({ ...one, kind: "failed" as const }));
  const first = {
    ...decided({ views: reached, listings }, noted, options),
    byControllers: inside.found,
    notListed: [...notListed, ...elsewhere, ...unanswered],
  };
  const toDelete = new Set(toDeleteOf(first.items).map(({ resource }) => resource.who.clusterUid));
  return findAgain(first, options, { clusterUids: toDelete, locks: "peek" });
}

/**
 * Decides once more, from fresh states of the named clusters' stacks. `mine`: the caller holds their locks.
 * Only what both looks would sweep is swept.
 */
export async function findAgain(
  before: LeftoverReport,
  options: LeftoverOptions,
  about: { readonly clusterUids: ReadonlySet<string>; readonly locks: "peek" | "mine" },
): Promise<LeftoverReport> {
  const stacks = before.clusters
    .filter(({ clusterUid }) => about.clusterUids.has(clusterUid))
    .flatMap((cluster) => cluster.stacks);
  if (stacks.length === 0) return before;
  const { views: read, bound } = await readViews([...new Set(stacks)], options, about.locks);
  const names = usedProviders([], options.backend, read);
  const clouds = await reachedClouds(names, read, bound, options);
  const fresh = read.map((view) => withinReach(view, clouds));
  const renewed = new Set(fresh.map(({ stack }) => stack));
  const views = [...before.seen.views.filter(({ stack }) => !renewed.has(stack)), ...fresh];
  const { listings } = before.seen;
  const again = decided({ views, listings }, notedClusters(options.stateDir), options);
  return { ...before, ...again, items: confirmed(before.items, again.items) };
}

/** What is to be deleted. */
export function toDeleteOf(items: readonly SweepItem[]): SweepItem[] {
  return items.filter(({ kind }) => kind === "sweep");
}

function decided(
  seen: LeftoverReading,
  noted: readonly NotedCluster[],
  { backend, graceMs, consent, context }: LeftoverOptions,
): Omit<LeftoverReport, "notListed" | "byControllers"> {
  const clusters = knownClusters(noted, backend, seen.views);
  const items = decideSweep({ ...seen, clusters, graceMs, consent, nowMs: context.clock.now() });
  const unreadable = seen.views.filter((view) => view.kind === "unreadable");
  return { items, clusters, unreadable, seen };
}

async function readViews(
  stacks: readonly string[],
  { engine, stateDir, context, providers }: LeftoverOptions,
  locks: "peek" | "mine",
): Promise<{ readonly views: StackView[]; readonly bound: BoundProviders }> {
  const bound = new Map<string, InfrastructureProvider>();
  const views = await mapBounded(stacks, readersAtATime, async (stack): Promise<StackView> => {
    try {
      const lockedBy = locks === "peek" ? StackLock.holderOf(stateDir, stack) : undefined;
      const state = await engine.readState(stack);
      if (state.fromCopy === true) return { kind: "unreadable", stack, reason: olderText(stack) };
      const provider = boundProvider(state, providers);
      if (provider !== undefined) bound.set(stack, provider);
      return viewOf(stack, state, { hostKind: provider?.hostKind ?? "", lockedBy });
    } catch (error) {
      context.signal.throwIfAborted();
      if (!isCapstanError(error)) throw error;
      return { kind: "unreadable", stack, reason: error.message };
    }
  });
  return { views, bound };
}

/** What an older copy does not record may run all the same. */
function olderText(stack: string): string {
  return `cannot read the state of ${stack}: it was cut off in writing, and its last good copy may be older than the cloud; capstan up brings it up to date`;
}

/** What a stack in another cloud records is no leftover here, and its cluster is not to be swept from here. */
function withinReach(view: StackView, clouds: readonly ReachedCloud[]): StackView {
  if (view.kind === "unreadable") return view;
  const elsewhere = elsewhereText(view, clouds);
  return elsewhere === undefined ? view : { ...view, busy: elsewhere, elsewhere };
}

function notReached(view: StackView): NotListed[] {
  const { holds, elsewhere } = view.kind === "read" ? view : {};
  if (holds === undefined || elsewhere === undefined) return [];
  return [{ provider: holds.provider, kind: "failed", reason: elsewhere }];
}

async function listOwned(
  clouds: readonly ReachedCloud[],
  { context }: LeftoverOptions,
): Promise<{ listings: OwnListing[]; notListed: NotListed[] }> {
  const listings: OwnListing[] = [];
  const notListed: NotListed[] = [];
  for (const { provider: name, by: provider, cloud } of clouds) {
    if (provider?.owned === undefined) {
      const reason =
        provider === undefined
          ? "this release and this project have no such provider"
          : "it cannot list what belongs to clusters that are gone";
      notListed.push({ provider: name, kind: "unable", reason });
      continue;
    }
    const failed = (error: unknown) => {
      context.signal.throwIfAborted();
      notListed.push({ provider: name, kind: "failed", reason: messageOf(error) });
      return [];
    };
    try {
      const resources = await provider.owned(context);
      const { secrets: store } = provider.userData ?? {};
      // Whoever has no right to secrets can still sweep all the rest.
      const secrets = (await store?.kept?.(context).catch(failed)) ?? [];
      listings.push({ provider: name, cloud, resources, secrets, by: provider });
    } catch (error) {
      failed(error);
    }
  }
  return { listings, notListed };
}
