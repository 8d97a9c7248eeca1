import { unavailable } from "../../src/plan/waves/host-set.js";
import { setOf } from "../../src/plan/waves/rollout.js";
import { minAvailableOf } from "../../src/sets/fenceposts.js";
import { replaced, type Replacement } from "./replacement.js";

// Defects of rollouts that laws see in memory, and chaos in real runs.

/** No machine has to be available, and the plan says so. */
export const noneHasToServe: readonly Replacement[] = [replaced(minAvailableOf, () => () => 0)];

/** Every host of a worker counts as one that serves. */
export const workersAlwaysServe: readonly Replacement[] = [
  replaced(
    setOf,
    (original) => (name, hosts, marked) =>
      original(
        name,
        hosts.map((host) => ({ ...host, available: true })),
        marked,
      ),
  ),
  replaced(
    unavailable,
    (original) => (hosts) => original(hosts.filter(({ controlPlane }) => controlPlane)),
  ),
];
