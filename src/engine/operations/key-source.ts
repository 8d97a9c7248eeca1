import { keyAlgorithmOf } from "../../api/key-algorithm.js";
import { type ClusterKeys, newClusterKeys } from "../../bootstrap/certificates/cluster-keys.js";
import type { Clock } from "../../provider/port.js";
import { clusterIn, type Target } from "../../records/target.js";
import type { KeySource } from "../run/run.js";

/** Where a cluster's keys come from: new ones, over which somebody's own go. */
export function keySource(target: Target, clock: Clock, given?: Partial<ClusterKeys>): KeySource {
  const algorithm = keyAlgorithmOf(clusterIn(target));
  return {
    areGiven: given !== undefined,
    make: async () => ({ ...(await newClusterKeys(clock.now(), algorithm)), ...given }),
  };
}
