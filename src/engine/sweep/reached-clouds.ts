import { isCapstanError } from "../../api/error.js";
import { sameJson } from "../../api/json.js";
import { boundToRecorded } from "../../provider/for-cluster.js";
import type { CallContext, CloudIdentity, InfrastructureProvider } from "../../provider/port.js";
import { isSameCloud, refuseWrongCloud } from "../../provider/same-cloud.js";
import type { ListedCloud, StackView } from "../../sweep/stack-view.js";
import type { StackState } from "../backend/state.js";
import { provenCloud } from "../run/observe.js";

/** One cloud that a provider leads to, with the credentials of the process or with those that a Cluster names. */
export interface ReachedCloud extends ListedCloud {
  /** Undefined: this release and this project have none of that name. */
  readonly by: InfrastructureProvider | undefined;
}

/** The provider of each stack's cluster with the credentials that it names, by stack. */
export type BoundProviders = ReadonlyMap<string, InfrastructureProvider>;

/** Of one stack that was read; undefined where it holds nothing, or its provider is not there. Pure. */
export function boundProvider(
  { transaction }: StackState,
  providers: readonly InfrastructureProvider[],
): InfrastructureProvider | undefined {
  const target = transaction?.target;
  const provider = providers.find(({ name }) => name === target?.provider);
  return provider && boundToRecorded(provider, target?.objects);
}

/**
 * The clouds that providers lead to, each once: with the credentials of the process, and with those that Clusters of stacks name. Throws
 * WRONG_CLOUD when nothing that is recorded of a provider is in any cloud that answers (law 12).
 */
export async function reachedClouds(
  names: readonly string[],
  views: readonly StackView[],
  bound: BoundProviders,
  { providers, context }: { providers: readonly InfrastructureProvider[]; context: CallContext },
): Promise<ReachedCloud[]> {
  const reached: ReachedCloud[] = [];
  for (const name of names) {
    const own = providers.find((one) => one.name === name);
    const others = [...bound.values()].filter((one) => one.name === name);
    const ofName: ReachedCloud[] = [];
    for (const by of new Set([own, ...others])) {
      const cloud = by && (await cloudOrNothing(by, context));
      const isKnown = cloud !== undefined && ofName.some((one) => sameJson(one.cloud, cloud));
      if (!isKnown) ofName.push({ provider: name, by, cloud });
    }
    refuseUnreached(name, views, ofName);
    reached.push(...ofName);
  }
  return reached;
}

/** As a provider that cannot be listed: its clusters are left alone, and the report says why. */
async function cloudOrNothing(
  provider: InfrastructureProvider,
  context: CallContext,
): Promise<CloudIdentity | undefined> {
  if (provider.identity === undefined) return undefined;
  return provenCloud(provider, context, provider.name, undefined).catch((error: unknown) => {
    if (!isCapstanError(error) || error.code === "CANCELLED") throw error;
    return undefined;
  });
}

function refuseUnreached(
  name: string,
  views: readonly StackView[],
  reached: readonly ReachedCloud[],
): void {
  const answered = reached.map(({ cloud }) => cloud).filter((cloud) => cloud !== undefined);
  const recorded = views.flatMap((view) => {
    const holds = view.kind === "read" && view.holds?.provider === name ? view.holds : undefined;
    return holds?.cloud === undefined ? [] : [holds.cloud];
  });
  if (answered.some((one) => recorded.some((cloud) => isSameCloud(cloud, one)))) return;
  if (answered.length > 0)
    refuseWrongCloud(`what clusters on ${name} own`, recorded[0], answered[0]);
}
