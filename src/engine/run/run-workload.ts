import { providerValue } from "../../api/types.js";
import type { HostKeys } from "../../bootstrap/certificates/key-ring.js";
import { endpointText } from "../../bootstrap/kubeadm/settings.js";
import { keyOf, nodeKey } from "../../graph/graph.js";
import type {
  ApiEndpoint,
  CallContext,
  Identity,
  InfrastructureProvider,
  Observed,
} from "../../provider/port.js";
import type { PriorState } from "../../records/prior-state.js";
import { recordedKeys } from "../../records/recorded-keys.js";
import { clusterIn, type Target } from "../../records/target.js";
import { noEndpoint, noKeys } from "./bootstrap-refusals.js";
import type { Observation } from "./observe.js";
import type { OpenWorkload, WorkloadCluster } from "./workload-cluster.js";

interface ReachedCluster {
  readonly provider: InfrastructureProvider;
  readonly target: Target;
  readonly openWorkload: OpenWorkload;
}

/** Where a cluster answers, and whom it trusts. */
interface ClusterAccess {
  readonly endpoint: ApiEndpoint;
  readonly keys: HostKeys;
}

/** How one run reaches the API server of its own cluster: by what the cloud shows of its endpoint, and with the keys that are recorded. */
export class RunWorkload {
  private opened:
    { readonly server: string; readonly cluster: Promise<WorkloadCluster> } | undefined;

  constructor(private readonly reached: ReachedCluster) {}

  /** Undefined as long as nobody has asked for it. */
  get current(): Promise<WorkloadCluster> | undefined {
    return this.opened?.cluster;
  }

  /** All that the cloud shows of a cluster. Throws what the provider throws. */
  listed(ctx: CallContext, { cluster, clusterUid }: Identity): Promise<readonly Observed[]> {
    return this.reached.provider.inventory(ctx, { cluster, clusterUid });
  }

  /** By the resources of the target alone: another generation may stand beside them. Pure. */
  endpointAmong(observed: readonly Observed[]): ApiEndpoint | undefined {
    const wanted = new Set(this.reached.target.nodes.map(keyOf));
    return this.endpointOf(observed.filter(({ who }) => wanted.has(nodeKey(who.kind, who.name))));
  }

  private endpointOf(observed: readonly Observed[]): ApiEndpoint | undefined {
    const { provider, target } = this.reached;
    const shared = observed.filter(
      ({ who, phase }) => phase !== "gone" && who.kind !== provider.hostKind,
    );
    const clusterSpec = providerValue(clusterIn(target).spec);
    return provider.apiEndpoints?.(shared, clusterSpec)[0];
  }

  /** Asks nothing yet. */
  at(
    { cluster }: Identity,
    { endpoint, keys }: ClusterAccess,
    clock: CallContext["clock"],
  ): Promise<WorkloadCluster> {
    const server = `https://${endpointText(endpoint)}`;
    if (this.opened?.server !== server) {
      const opened = this.reached.openWorkload({ cluster, server, keys, clock });
      this.opened = { server, cluster: opened };
    }
    return this.opened.cluster;
  }

  /**
   * Through the shared resources of the target, or of another generation while there are none. Asks nothing yet. Throws
   * UNKNOWN_PRESENCE while the cloud shows no endpoint, and NOT_FOUND where nobody knows the keys.
   */
  among(
    observed: readonly Observed[],
    who: Identity,
    records: PriorState,
    { clock }: CallContext,
  ): Promise<WorkloadCluster> {
    const endpoint = this.endpointAmong(observed) ?? this.endpointOf(observed);
    if (endpoint === undefined) throw noEndpoint(who);
    const keys = recordedKeys(records);
    if (keys === undefined) throw noKeys(who);
    return this.at(who, { endpoint, keys }, clock);
  }

  /** The same for a host of a look. Throws as `among` does. */
  async beside(
    { observedResources }: Pick<Observation, "observedResources">,
    { who }: Observed,
    records: PriorState,
    ctx: CallContext,
  ): Promise<WorkloadCluster> {
    const present = [...observedResources.values()].filter((one) => one !== "gone");
    return this.among(present, who, records, ctx);
  }
}
