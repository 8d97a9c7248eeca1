import { messageOf } from "../../api/error.js";
import type { Leftover } from "../../provider/leftovers.js";
import type { CallContext, InfrastructureProvider } from "../../provider/port.js";
import type { NotedCluster } from "../../sweep/clusters.js";
import { mostGoneNames } from "../../sweep/gone-clusters.js";

/** What controllers of a cluster that is gone have left. It is told, and never swept: only tags say whose it was. */
export interface GoneLeftover {
  readonly provider: string;
  /** "<namespace>/<name>". */
  readonly cluster: string;
  readonly leftover: Leftover;
}

interface GoneLook {
  readonly found: readonly GoneLeftover[];
  readonly failed: readonly { readonly provider: string; readonly reason: string }[];
}

/** Asks the cloud of each gone cluster what bears its name, newest clusters first. Throws what an interruption throws. */
export async function leftByControllers(
  gone: readonly NotedCluster[],
  {
    providers,
    context,
  }: {
    readonly providers: readonly InfrastructureProvider[];
    readonly context: CallContext;
  },
): Promise<GoneLook> {
  const found: GoneLeftover[] = [];
  const failed = new Map<string, string>();
  for (const { cluster, clusterUid, provider: name } of gone.slice(0, mostGoneNames)) {
    const provider = providers.find((one) => one.name === name);
    if (provider?.leftovers === undefined || failed.has(name)) continue;
    try {
      const leftovers = await provider.leftovers(context, { cluster, clusterUid });
      found.push(...leftovers.map((leftover) => ({ provider: name, cluster, leftover })));
    } catch (error) {
      context.signal.throwIfAborted();
      failed.set(name, messageOf(error));
    }
  }
  return { found, failed: [...failed].map(([provider, reason]) => ({ provider, reason })) };
}
