import { observe } from "../../src/engine/run/observe.js";
import { callContext } from "../../src/engine/run/handler-session.js";
import type { ClusterView } from "../../src/source/cluster-view.js";
import { testCluster } from "./manifests.js";
import type { FakeEngine } from "./fake-engine.js";

/** How a cluster is shown whose engine has come to rest, but for what `about` says. */
export async function viewOf(
  { prior, provider, clock }: FakeEngine,
  about: Partial<ClusterView> = {},
): Promise<ClusterView> {
  const clusterUid = prior.transaction?.clusterUid;
  const scope = {
    cluster: `default/${testCluster}`,
    ...(clusterUid !== undefined && { clusterUid }),
  };
  const context = callContext(clock, new AbortController().signal);
  const { observedResources } = await observe(provider, context, scope, prior);
  return {
    phase: "Running",
    records: prior,
    observedResources,
    isSettled: true,
    nowMs: clock.now(),
    ...(clusterUid !== undefined && { clusterUid }),
    ...about,
  };
}
