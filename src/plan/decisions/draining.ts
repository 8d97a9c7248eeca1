import { providerValue } from "../../api/types.js";
import { joiningTerms } from "../../provider/joining-terms.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import { clusterIn, keepsControlPlane, type Target } from "../../records/target.js";

/**
 * Whether hosts are nodes of a cluster that goes on and that has an API server of its own, so that their pods move away before they are
 * deleted or disturbed. Pure.
 */
export function drainsHosts(
  provider: Pick<InfrastructureProvider, "userData">,
  target: Target,
): boolean {
  const terms = joiningTerms(provider, providerValue(clusterIn(target).spec));
  return terms !== undefined && keepsControlPlane(target);
}
