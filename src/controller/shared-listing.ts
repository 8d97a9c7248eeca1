import { digestOf } from "../api/digest.js";
import type { JsonObject } from "../api/json.js";
import type {
  CallContext,
  InfrastructureProvider,
  InventoryScope,
  Observed,
} from "../provider/port.js";
import type { AnyObject } from "../api/types.js";
import { boundToRecorded } from "../provider/for-cluster.js";
import { asKnown, unobservableOf } from "../provider/unobservable.js";

/** One listing of everything that is ours in one account and region, by "<namespace>/<name>" of the Cluster. */
type OwnedListing = ReadonlyMap<string, readonly Observed[]>;

/** What a listing shows of a cluster: of one life of it, or of all without a UID. Pure. */
export function listedOf(
  listing: OwnedListing,
  { cluster, clusterUid }: InventoryScope,
): readonly Observed[] {
  const own = listing.get(cluster) ?? [];
  return clusterUid === undefined ? own : own.filter(({ who }) => who.clusterUid === clusterUid);
}

/**
 * A provider whose inventory is shared: all who ask at the same time get one listing of everything, begun
 * after the first of them asked, so that nobody is told less than a listing of their own would have told.
 * A provider that cannot list everything answers each cluster by itself.
 */
export class SharedListing {
  readonly provider: InfrastructureProvider;
  private next: Promise<OwnedListing> | undefined;
  private lastBegunAtMs = Number.NEGATIVE_INFINITY;
  /** Those of clusters that name credentials: what is theirs is in no listing but that of their cloud. */
  private readonly bound = new Map<InfrastructureProvider, SharedListing>();

  /** `minGapMs`: listings begin no closer together. */
  constructor(
    private readonly origin: InfrastructureProvider,
    private readonly context: CallContext,
    private readonly minGapMs = 100,
  ) {
    this.provider = origin.owned === undefined ? origin : this.shared(origin);
  }

  /** Whether everything can be listed at once. */
  get canShare(): boolean {
    return this.origin.owned !== undefined;
  }

  /** The listing with the credentials that the Cluster among recorded objects names. */
  of(objects: readonly AnyObject[] | undefined): SharedListing {
    const provider = boundToRecorded(this.origin, objects);
    return provider === this.origin ? this : this.boundTo(provider);
  }

  private boundTo(provider: InfrastructureProvider): SharedListing {
    const known =
      this.bound.get(provider) ?? new SharedListing(provider, this.context, this.minGapMs);
    this.bound.set(provider, known);
    return known;
  }

  /** A listing that begins from now on. Throws what the cloud answers. */
  async fresh(): Promise<OwnedListing> {
    this.next ??= this.begin();
    return this.next;
  }

  private async begin(): Promise<OwnedListing> {
    const { clock, signal } = this.context;
    const waitMs = this.lastBegunAtMs + this.minGapMs - clock.now();
    // Whoever asks while this one waits is served by it; whoever asks once it has begun, by the next.
    await clock.sleep(Math.max(0, waitMs), signal);
    this.next = undefined;
    this.lastBegunAtMs = clock.now();
    const all = (await this.origin.owned?.(this.context)) ?? [];
    const byCluster = new Map<string, Observed[]>();
    for (const one of all) {
      const group = byCluster.get(one.who.cluster);
      if (group === undefined) byCluster.set(one.who.cluster, [one]);
      else group.push(one);
    }
    return byCluster;
  }

  private shared(origin: InfrastructureProvider): InfrastructureProvider {
    const inventory: InfrastructureProvider["inventory"] = async (_context, scope) =>
      listedOf(await this.fresh(), scope);
    const forCluster = (spec: JsonObject) => {
      const bound = origin.forCluster?.(spec);
      return bound && this.boundTo(bound).provider;
    };
    // A provider is a class of its own making: what it is stays behind, one call is answered here.
    return new Proxy(origin, {
      get: (target, name): unknown => {
        if (name === "inventory") return inventory;
        if (name === "forCluster") return forCluster;
        const member: unknown = Reflect.get(target, name, target);
        return typeof member === "function" ? (member as () => unknown).bind(target) : member;
      },
    });
  }
}

/** Tells whether a cluster looks in two listings the same: order does not count, nor what is gone. Pure. */
export function observedDigestOf(
  observed: readonly Observed[],
  provider: Pick<InfrastructureProvider, "handlers">,
): string {
  // What a cloud cannot show may stand in one of two looks alone, and why something failed may be told in new words.
  const alive = observed
    .filter(({ phase }) => phase !== "gone")
    .map(({ failure: _failure, ...one }) =>
      asKnown(one, unobservableOf(provider, one.who.kind), {}),
    );
  const sorted = [...alive].sort((left, right) => (left.id < right.id ? -1 : 1));
  return digestOf(sorted, 16);
}
