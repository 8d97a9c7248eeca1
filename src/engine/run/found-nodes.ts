import { sameJson } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { identityOf } from "../../compile/compile.js";
import { dependenciesOf, type GraphNode, keyOf } from "../../graph/graph.js";
import { withLostRecords } from "../../plan/decisions/lost-records.js";
import type { PlanInput } from "../../plan/plan-input.js";
import type { OrphanedResource, RemainingPlan } from "../../plan/plan.js";
import type { InfrastructureProvider, Observed } from "../../provider/port.js";
import { withSecretFields } from "../../provider/secret-fields.js";
import { hostKeysInName, hostsInName, machineNameOf } from "../../records/host-name.js";
import type { PriorState } from "../../records/prior-state.js";
import { clusterIn, machineKey } from "../../records/target.js";

/**
 * What the cloud holds and nobody recorded as nodes of a graph, as it is and where the target that it was made for has it. What bears
 * marks that no apply of ours gives is none. Pure.
 */
export function foundNodes(
  orphaned: readonly OrphanedResource[],
  { target, transaction }: Pick<RemainingPlan, "target" | "transaction">,
  about: {
    readonly state: Pick<PriorState, "transaction" | "revision">;
    readonly shown: readonly Observed[];
    readonly provider: InfrastructureProvider;
  },
): readonly GraphNode[] {
  const { state, shown, provider } = about;
  const cluster = clusterIn(target);
  const made = [state.transaction?.target, state.revision?.target].flatMap(
    (one) => one?.nodes ?? [],
  );
  const nodes = orphaned.flatMap(({ id, who }): GraphNode[] => {
    const { kind, name } = who;
    const seen = shown.find((one) => one.id === id);
    const isOurs = sameJson(who, identityOf(cluster, transaction.clusterUid, kind, name));
    if (seen === undefined || !isOurs) return [];
    const node = made.find((one) => keyOf(one) === keyOf(who)) ?? unknownNode(kind, name, provider);
    return [omitUndefined({ ...node, spec: seen.spec, dependsOn: dependenciesOf(node) })];
  });
  return withSecretFields(nodes, provider);
}

/**
 * Orphaned resources that get a record before they go: those that the last revision made, and those that are released after a
 * host that is recorded. Pure.
 */
export function recordedFirst(
  orphaned: readonly OrphanedResource[],
  { unrecorded = [], observedResources = new Map(), ...about }: RecordedFirstInput,
): OrphanedResource[] {
  const lost = new Set(withLostRecords(orphaned, { ...about, unrecorded, observedResources }));
  const hosts = new Set(about.prior.resources.map(({ name }) => name));
  return orphaned.filter(
    (one) =>
      lost.has(one) ||
      (one.letGo === true && hostsInName(one.who.name).some((host) => hosts.has(host))),
  );
}

type RecordedFirstInput = Pick<PlanInput, "goal" | "prior" | "provider"> &
  Partial<Pick<PlanInput, "unrecorded" | "observedResources">>;

/** Where a name says that it belongs. */
function unknownNode(kind: string, name: string, { hostKind }: InfrastructureProvider): GraphNode {
  const bare = { kind, name, type: "resource", spec: {} } as const;
  if (kind === hostKind) return { ...bare, parent: machineKey(machineNameOf(name)), dependsOn: [] };
  // A pass depends on none that there is not.
  return { ...bare, dependsOn: hostKeysInName(name, hostKind) };
}
