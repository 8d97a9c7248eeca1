import { expectDefined } from "../../../../src/api/error.js";
import { ClusterState } from "../../../../src/controller/cluster-state.js";
import { pollDrift } from "../../../../src/controller/poll-drift.js";
import { observedDigestOf, SharedListing } from "../../../../src/controller/shared-listing.js";
import { RequestPaces } from "../../../../providers/aws/calls/request-pace.js";
import type { Observed } from "../../../../src/provider/port.js";
import type { ClusterView } from "../../../../src/source/cluster-view.js";
import { SteppedTime } from "../../../support/stepped-time.js";
import { AwsLife } from "./life.js";
import { SimCloud } from "./sim-cloud.js";

/** What `capstan watch` takes without `--period`. */
export const defaultPeriodMs = 30_000;
const hourMs = 3_600_000;
const plenty = 1_000_000;
const quotas = {
  vpcs: plenty,
  internetGateways: plenty,
  addresses: plenty,
  natGatewaysPerZone: plenty,
  securityGroups: plenty,
  vcpus: plenty,
  loadBalancers: plenty,
  targetGroups: plenty,
};

/** What the ledger of the simulated AWS has counted. */
export interface CallCounts {
  readonly calls: number;
  readonly changing: number;
  readonly refused: number;
  readonly cloudSeconds: number;
  readonly byAction: Readonly<Record<string, number>>;
}

/** One account with clusters of one host each. */
export interface SteadyHour {
  readonly clusters: number;
  readonly resourcesEach: number;
  readonly creation: CallCounts;
  readonly look: CallCounts;
  /** An hour in which nothing is to do, with the looks that the loop has taken. */
  readonly hour: CallCounts & { readonly looks: number };
  /** Clusters of which the loop said that they have changed. */
  readonly told: readonly string[];
}

/**
 * So many clusters, made one after the other by the provider's own calls and then watched for an hour by the loop of
 * `capstan watch` that looks for drift: its poll and its shared listing, over clusters that nothing is left to do about. AWS limits its
 * calls, and time passes only while everybody waits.
 */
export async function steadyHour(
  clusters: number,
  periodMs = defaultPeriodMs,
): Promise<SteadyHour> {
  const cloud = new SimCloud({ quotas, throttle: true });
  const { aws, clients } = cloud;
  const time = new SteppedTime(
    () => aws.clock.now(),
    (ms) => aws.advance(ms),
  );
  const place = { clients, clock: time.clock, paces: new RequestPaces() };
  const lives = Array.from(
    { length: clusters },
    (_, at) => new AwsLife(place, { cluster: `c${at}`, isSmall: true }),
  );
  const first = expectDefined(lives[0], "a cluster");
  const { provider, context } = first;
  const counted = async (work: () => Promise<unknown>) => {
    const after = aws.ledger.after(0).length;
    const begunMs = aws.clock.now();
    await time.run(work());
    return countsOf(cloud, after, begunMs);
  };
  const creation = await counted(async () => {
    for (const life of lives) await made(life);
  });
  let listed: readonly Observed[] = [];
  const look = await counted(async () => {
    listed = (await provider.owned?.(context)) ?? [];
  });
  const memories = remembered(listed, provider.handlers);
  const told: string[] = [];
  let looks = 0;
  const counting = {
    ...provider,
    owned: (ctx: typeof context) => ((looks += 1), provider.owned?.(ctx)),
  };
  const hour = await counted(async () => {
    const over = new AbortController();
    const { clock } = time;
    const polling = pollDrift(
      {
        listing: new SharedListing(counting as typeof provider, {
          ...context,
          signal: over.signal,
        }),
        clock,
        periodMs,
        random: () => 0.5,
        remembered: () => memories,
        onChange: (key) => told.push(key),
        onFailure: (error) => told.push(String(error)),
      },
      over.signal,
    );
    await clock.sleep(hourMs);
    over.abort(new Error("the hour is over"));
    await polling;
  });
  return {
    clusters,
    resourcesEach: first.planned().length,
    creation,
    look,
    hour: { ...hour, looks },
    told,
  };
}

async function made(life: AwsLife): Promise<void> {
  for (const { phase, run } of life.steps()) {
    if (phase === "unchanged") return;
    await run();
  }
}

/** Each cluster as the loop remembers it once nothing is left to do. */
function remembered(
  listed: readonly Observed[],
  handlers: AwsLife["provider"]["handlers"],
): ReadonlyMap<string, ClusterState> {
  const keys = [...new Set(listed.map(({ who }) => who.cluster))];
  return new Map(
    keys.map((key) => {
      const own = listed.filter(({ who }) => who.cluster === key);
      const clusterUid = own[0]?.who.clusterUid;
      const records = {
        transaction: { target: { provider: "aws" } },
        resources: [],
        pending: [],
      };
      const view = { records, clusterUid } as unknown as ClusterView;
      const state = new ClusterState();
      state.settled(view, { digest: "asked", observedDigest: observedDigestOf(own, { handlers }) });
      return [key, state];
    }),
  );
}

function countsOf({ aws }: SimCloud, after: number, begunMs: number): CallCounts {
  const byAction: Record<string, number> = {};
  const calls = aws.ledger.after(after);
  for (const { action } of calls) byAction[action] = (byAction[action] ?? 0) + 1;
  return {
    calls: calls.length,
    changing: calls.filter(({ isMutating }) => isMutating).length,
    refused: calls.filter(({ outcome }) =>
      ["RequestLimitExceeded", "Throttling"].includes(outcome?.code ?? ""),
    ).length,
    cloudSeconds: (aws.clock.now() - begunMs) / 1_000,
    byAction,
  };
}
