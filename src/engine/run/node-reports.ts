import { isCapstanError } from "../../api/error.js";
import type { CallContext, InfrastructureProvider } from "../../provider/port.js";
import type { Observation } from "../../plan/observation.js";
import type { PriorState } from "../../records/prior-state.js";
import { RunBootstrap } from "./run-bootstrap.js";
import type { OpenWorkload } from "./workload-cluster.js";

/** How long a cluster that did not answer is not asked again. */
const silenceMs = 60_000;

interface Looked {
  readonly provider: InfrastructureProvider;
  readonly records: PriorState;
  readonly context: CallContext;
}

/**
 * What the Nodes of clusters say of themselves, read from their own API servers. A cluster that does not answer is no news: its
 * hosts are then as their provider tells.
 */
export class NodeReports {
  /** Until when each cluster that did not answer is left alone, by its UID, milliseconds since the epoch. */
  private readonly silentUntilMs = new Map<string, number>();

  constructor(private readonly openWorkload: OpenWorkload) {}

  /** The observation with what Nodes say; as it is where nobody says anything. Throws nothing but an interruption. */
  async over(observation: Observation, looked: Looked): Promise<Observation> {
    const { provider, records, context } = looked;
    const { transaction } = records;
    if (transaction?.keys === undefined) return observation;
    const { clusterUid, target } = transaction;
    if (context.clock.now() < (this.silentUntilMs.get(clusterUid) ?? 0)) return observation;
    const { openWorkload } = this;
    const bootstrap = RunBootstrap.of(target, { provider, openWorkload });
    if (bootstrap === undefined) return observation;
    try {
      const nodes = await bootstrap.nodesAmong(context, observation, records);
      return { ...observation, nodes };
    } catch (error) {
      context.signal.throwIfAborted();
      if (!isCapstanError(error)) throw error;
      this.silentUntilMs.set(clusterUid, context.clock.now() + silenceMs);
      return observation;
    }
  }
}
