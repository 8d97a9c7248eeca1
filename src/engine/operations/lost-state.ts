import { CapstanError } from "../../api/error.js";
import type { CallContext, InfrastructureProvider } from "../../provider/port.js";
import { notedClusters } from "../backend/cluster-registry.js";
import { reading } from "../run/observe.js";

interface LostStateQuestion {
  /** "default.prod". */
  readonly stack: string;
  readonly stateDir: string;
  readonly providers: readonly InfrastructureProvider[];
  readonly context: CallContext;
}

/**
 * Law 12, for a stack of which nothing is recorded: what was once made from this state folder under its name
 * may live on. Throws AMBIGUOUS_OWNER when a cloud shows any of it, and what keeps a cloud from being asked.
 */
export async function refuseLostState(question: LostStateQuestion): Promise<void> {
  const { stack, stateDir, providers, context } = question;
  const noted = notedClusters(stateDir).filter((one) => one.stack === stack);
  for (const { cluster, clusterUid, provider: name, endedAtMs } of noted) {
    const provider = providers.find((one) => one.name === name);
    if (provider === undefined) continue;
    const scope = { cluster, clusterUid };
    const listed = await reading(context, () => provider.inventory(context, scope));
    const alive = listed.filter(({ phase }) => phase !== "gone").length;
    if (alive > 0) throw lostState(cluster, alive, endedAtMs !== undefined);
  }
}

function lostState(cluster: string, alive: number, hasEnded: boolean): CapstanError {
  const sweep = hasEnded ? "capstan sweep" : `capstan sweep --lost-cluster ${cluster}`;
  return new CapstanError({
    code: "AMBIGUOUS_OWNER",
    source: "user",
    subject: cluster,
    message: `cannot destroy ${cluster}: nothing is recorded of it, and the cloud holds ${alive} of its resources`,
    hint: `take them over with capstan up --adopt and destroy it then, or look at them with ${sweep}; nothing was changed`,
  });
}
