import type { InfrastructureProvider } from "../provider/port.js";
import { aroundCalls, type CloudCalls } from "../provider/provider-calls.js";

const changes: readonly (keyof CloudCalls)[] = [
  "create",
  "update",
  "remove",
  "disown",
  "mark",
  "markLeft",
  "removeLeftover",
  "put",
  "delete",
];

/**
 * The same provider, which changes its cloud only while `assertLeader` does not throw: a process that
 * was stopped in the middle of an engine run and goes on must not finish what others may have begun anew.
 */
export function fencedProvider(
  provider: InfrastructureProvider,
  assertLeader: () => void,
): InfrastructureProvider {
  return aroundCalls(provider, async ({ name }, make) => {
    if (changes.includes(name)) assertLeader();
    return make();
  });
}
