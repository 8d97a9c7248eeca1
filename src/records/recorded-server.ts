import { providerValue } from "../api/types.js";
import { endpointText } from "../bootstrap/kubeadm/settings.js";
import type { InfrastructureProvider, Observed } from "../provider/port.js";
import {
  cloudResources,
  type PriorState,
  recordedIdentity,
  recordedSpec,
  recordedStatus,
} from "./prior-state.js";
import { clusterIn } from "./target.js";

/**
 * Where the API servers of a cluster answer, as it was recorded: also while the cloud cannot be asked. "https://HOST:PORT";
 * undefined where nobody knows yet. Pure.
 */
export function recordedServer(
  state: PriorState,
  provider: Pick<InfrastructureProvider, "apiEndpoints"> | undefined,
): string | undefined {
  const { transaction } = state;
  if (transaction === undefined) return undefined;
  const clusterSpec = providerValue(clusterIn(transaction.target).spec);
  const [endpoint] = provider?.apiEndpoints?.(recordedResources(state), clusterSpec) ?? [];
  return endpoint && `https://${endpointText(endpoint)}`;
}

function recordedResources(state: PriorState): Observed[] {
  return cloudResources(state).map((record) => ({
    id: record.id ?? "",
    who: recordedIdentity(record),
    phase: "ready",
    spec: recordedSpec(record),
    status: recordedStatus(record),
  }));
}
