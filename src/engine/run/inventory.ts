import { sameJson } from "../../api/json.js";
import { type DriftFilter, filtered, noFilter } from "../../drift/drift-filter.js";
import { cloudResources, type PriorState, recordedSpec } from "../../records/prior-state.js";
import type { Clock, CloudIdentity, InfrastructureProvider } from "../../provider/port.js";
import { timingOf } from "../../provider/timing.js";
import { observe, type Observation } from "./observe.js";
import { callContext } from "./handler-session.js";

/** What the cloud shows of a cluster, held against its state. */
export interface Inventory {
  readonly recorded: number;
  readonly alive: number;
  /** Milliseconds between the two looks that agreed; of the last two, when none did. */
  readonly settledMs: number;
  /** One line for each thing that differs in existence or content; empty: cloud and state agree. */
  readonly differences: readonly string[];
}

interface VerifyOptions {
  readonly provider: InfrastructureProvider;
  readonly clock: Clock;
  readonly stop: AbortSignal;
  /** Hides what is left as it is, whatever the records say; nothing without. */
  readonly driftFilter?: DriftFilter;
}

/** How many listing lags a cloud may take to show what is recorded. */
const patience = 5;

/**
 * Two consistent looks at the cloud, as far apart as listings may lag, against the state, in existence
 * and content. Looks again for a while when they differ, since deletions and listings take their time.
 * Architecture section 6. Throws WRONG_CLOUD, and UNKNOWN_PRESENCE when the cloud cannot say.
 */
export async function verifyInventory(
  {
    cluster,
    transaction,
  }: {
    readonly cluster: string;
    readonly transaction: { readonly clusterUid: string; readonly cloud?: CloudIdentity };
  },
  state: PriorState,
  { provider, clock, stop, driftFilter = noFilter }: VerifyOptions,
): Promise<Inventory> {
  const { listingLagMs } = timingOf(provider);
  const scope = { cluster, clusterUid: transaction.clusterUid };
  const context = callContext(clock, stop);
  let agreedAtMs: number | undefined;
  for (let looks = 0; ; looks += 1) {
    const observation = await observe(provider, context, scope, state, transaction.cloud);
    const { observedResources, unrecorded } = filtered(driftFilter, observation, state);
    const found = compareInventory(state, observedResources, unrecorded);
    const nowMs = clock.now();
    agreedAtMs = found.differences.length > 0 ? undefined : (agreedAtMs ?? nowMs);
    const settledMs = agreedAtMs === undefined ? listingLagMs : nowMs - agreedAtMs;
    if (agreedAtMs !== undefined && settledMs >= listingLagMs) return { ...found, settledMs };
    if (looks > patience && agreedAtMs === undefined) return { ...found, settledMs };
    await clock.sleep(listingLagMs, stop);
  }
}

/** One look at the cloud against the state, in existence and content. Pure. */
export function compareInventory(
  state: PriorState,
  observedResources: Observation["observedResources"],
  unrecorded: Observation["unrecorded"],
): Omit<Inventory, "settledMs"> {
  const recorded = cloudResources(state);
  let present = 0;
  const differences = recorded.flatMap((resource) => {
    const { key, id } = resource;
    const seen = observedResources.get(key);
    if (seen === undefined || seen === "gone") return [`${key} (${id ?? ""}) is gone`];
    present += 1;
    return sameJson(seen.spec, recordedSpec(resource))
      ? []
      : [`${key} (${seen.id}) is not what is recorded`];
  });
  const unknown = unrecorded.filter(({ phase }) => phase !== "gone");
  return {
    recorded: recorded.length,
    alive: present + unknown.length,
    differences: [
      ...differences,
      ...unknown.map(({ id, who }) => `${who.kind}/${who.name} (${id}) is left, in no record`),
    ],
  };
}
