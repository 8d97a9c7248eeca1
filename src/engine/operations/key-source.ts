import { keyAlgorithmOf } from "../../api/key-algorithm.js";
import { type ClusterKeys, newClusterKeys } from "../../bootstrap/certificates/cluster-keys.js";
import type { Clock, InfrastructureProvider } from "../../provider/port.js";
import { clusterIn, type Target } from "../../records/target.js";
import type { KeySource } from "../run/run-keys.js";

/**
 * Where a cluster's keys come from: new ones, over which somebody's own go. Undefined where hosts take no user data:
 * nothing would bring them there.
 */
export function keySource(
  { userData }: InfrastructureProvider,
  target: Target,
  clock: Clock,
  given?: Partial<ClusterKeys>,
): KeySource | undefined {
  if (userData === undefined) return undefined;
  const algorithm = keyAlgorithmOf(clusterIn(target));
  return {
    areGiven: given !== undefined,
    make: async (which) => {
      const keys = await newClusterKeys(clock.now(), algorithm);
      return which === "given" ? { ...keys, ...given } : keys;
    },
  };
}
