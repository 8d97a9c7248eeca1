import { isCapstanError, messageOf } from "../api/error.js";
import type { CallContext, InfrastructureProvider } from "../provider/port.js";
import {
  type KnownCluster,
  knownClusters,
  type NotedCluster,
  usedProviders,
} from "../sweep/clusters.js";
import { confirmed, decideSweep, type Listing, type SweepItem } from "../sweep/decide.js";
import { type StackView, viewOf } from "../sweep/stack-view.js";
import { mapBounded } from "./bounded.js";
import { ClusterRegistry } from "./cluster-registry.js";
import type { Engine } from "./engine.js";
import { StackLock } from "./lock.js";

export interface LeftoverOptions {
  readonly engine: Pick<Engine, "listStacks" | "readState">;
  readonly stateDir: string;
  /** `Workspace.backendKey`. */
  readonly backend: string;
  readonly providers: readonly InfrastructureProvider[];
  readonly context: CallContext;
  readonly graceMs: number;
}

/** A provider that clusters are on and that was not looked at. */
export interface NotListed {
  readonly provider: string;
  /** `failed`: the next look may succeed. `unable`: no look will. */
  readonly kind: "failed" | "unable";
  readonly reason: string;
}

/** A look at everything that clusters of a backend own. */
export interface LeftoverLook {
  readonly items: readonly SweepItem[];
  readonly clusters: readonly KnownCluster[];
  readonly notListed: readonly NotListed[];
  readonly unreadable: readonly { readonly stack: string; readonly reason: string }[];
  readonly seen: Seen;
}

/** What a second look starts from. */
interface Seen {
  readonly views: readonly StackView[];
  readonly listings: readonly Listing[];
}

/** States read at a time: each takes a process of Pulumi's. */
const readersAtATime = 4;

/**
 * Reads every stack of the backend, lists what their providers hold, and decides. Changes nothing. The
 * stacks of clusters with leftovers are read again after the listing, so that what was recorded in
 * between is not taken for a leftover. Throws when stacks or registry cannot be listed.
 */
export async function lookForLeftovers(options: LeftoverOptions): Promise<LeftoverLook> {
  const noted = readNoted(options.stateDir);
  const stacks = await options.engine.listStacks();
  const views = await readViews(stacks, options, "peek");
  const { listings, notListed } = await listOwned(
    usedProviders(noted, options.backend, views),
    options,
  );
  const first = { ...decided({ views, listings }, noted, options), notListed };
  const doomed = new Set(doomedOf(first.items).map(({ resource }) => resource.who.clusterUid));
  return lookAgain(first, options, { clusterUids: doomed, locks: "peek" });
}

/**
 * Decides once more, from fresh states of the named clusters' stacks. `mine`: the caller holds their locks.
 * Only what both looks would sweep is swept.
 */
export async function lookAgain(
  before: LeftoverLook,
  options: LeftoverOptions,
  about: { readonly clusterUids: ReadonlySet<string>; readonly locks: "peek" | "mine" },
): Promise<LeftoverLook> {
  const stacks = before.clusters
    .filter(({ clusterUid }) => about.clusterUids.has(clusterUid))
    .flatMap((cluster) => cluster.stacks);
  if (stacks.length === 0) return before;
  const fresh = await readViews([...new Set(stacks)], options, about.locks);
  const renewed = new Set(fresh.map(({ stack }) => stack));
  const views = [...before.seen.views.filter(({ stack }) => !renewed.has(stack)), ...fresh];
  const { listings } = before.seen;
  const again = decided({ views, listings }, readNoted(options.stateDir), options);
  return { ...before, ...again, items: confirmed(before.items, again.items) };
}

/** What is to be deleted. */
export function doomedOf(items: readonly SweepItem[]): SweepItem[] {
  return items.filter(({ kind }) => kind === "sweep");
}

function decided(
  seen: Seen,
  noted: readonly NotedCluster[],
  { backend, graceMs, context }: LeftoverOptions,
): Omit<LeftoverLook, "notListed"> {
  const clusters = knownClusters(noted, backend, seen.views);
  const items = decideSweep({ ...seen, clusters, graceMs, nowMs: context.clock.now() });
  const unreadable = seen.views.filter((view) => view.kind === "unreadable");
  return { items, clusters, unreadable, seen };
}

function readNoted(stateDir: string): NotedCluster[] {
  const registry = ClusterRegistry.open(stateDir);
  try {
    return registry.all();
  } finally {
    registry.close();
  }
}

function readViews(
  stacks: readonly string[],
  { engine, stateDir, context }: LeftoverOptions,
  locks: "peek" | "mine",
): Promise<StackView[]> {
  return mapBounded(stacks, readersAtATime, async (stack): Promise<StackView> => {
    try {
      const lockedBy = locks === "peek" ? StackLock.holderOf(stateDir, stack) : undefined;
      const state = await engine.readState(stack);
      if (state.fromCopy === true) return { kind: "unreadable", stack, reason: olderText(stack) };
      return viewOf(stack, state, lockedBy);
    } catch (error) {
      context.signal.throwIfAborted();
      if (!isCapstanError(error)) throw error;
      return { kind: "unreadable", stack, reason: error.message };
    }
  });
}

/** What an older copy does not record may run all the same. */
function olderText(stack: string): string {
  return `cannot read the state of ${stack}: it was cut off in writing, and its last good copy may be older than the cloud; capstan up brings it up to date`;
}

async function listOwned(
  names: readonly string[],
  { providers, context }: LeftoverOptions,
): Promise<{ listings: Listing[]; notListed: NotListed[] }> {
  const listings: Listing[] = [];
  const notListed: NotListed[] = [];
  for (const name of names) {
    const provider = providers.find((one) => one.name === name);
    if (provider?.owned === undefined) {
      const reason =
        provider === undefined
          ? "this release and this project have no such provider"
          : "it cannot list what belongs to clusters that are gone";
      notListed.push({ provider: name, kind: "unable", reason });
      continue;
    }
    try {
      listings.push({ provider: name, resources: await provider.owned(context) });
    } catch (error) {
      context.signal.throwIfAborted();
      notListed.push({ provider: name, kind: "failed", reason: messageOf(error) });
    }
  }
  return { listings, notListed };
}
