import { keyOf, nodeKey, type NodeKey } from "../../graph/graph.js";
import type { JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { Observed } from "../../provider/port.js";
import type { UnrecordedCreation } from "./infrastructure.js";
import { isHostOf, type PlannedHost, spendIncarnations, splitHostName } from "./hosts.js";
import type { Observation } from "../observation.js";
import type { PriorState } from "../../records/prior-state.js";
import type { Plan } from "../plan.js";
import type { PlanInput } from "../plan-input.js";
import type { Spent } from "../../records/transaction.js";
import type { Target } from "../../records/target.js";

// What the cloud holds and no record does, as far as it decides what is planned.

/**
 * Everything alive that neither state nor target knows. With a recorded cluster UID it is ours, left
 * by an apply whose engine forgot it; interrupted creations are resolved by themselves. `letGo` says what of
 * it was there before that apply. Without a record it may be anybody's of that name.
 */
export function unknownResources(
  { prior, unrecorded }: PlanInput,
  { nodes }: Target,
  letGo: ReadonlySet<NodeKey>,
): Pick<Plan, "orphaned" | "unrecorded"> {
  const wanted = nodes.map(keyOf);
  const known = new Set<NodeKey>([...wanted, ...prior.pending.map(({ key }) => key)]);
  const unknown = unrecorded.filter(
    ({ phase, who }) => phase !== "gone" && !known.has(nodeKey(who.kind, who.name)),
  );
  const ours = ({ who }: Observed) => who.clusterUid === prior.transaction?.clusterUid;
  return {
    orphaned: unknown
      .filter(ours)
      .map(({ id, who }) =>
        letGo.has(nodeKey(who.kind, who.name)) ? { id, who, letGo: true } : { id, who },
      ),
    unrecorded: unknown
      .filter((observed) => !ours(observed))
      .map(({ id, who }) => `${who.kind} ${who.name} (${id})`),
  };
}

/**
 * What is alive in this life of the cluster and was made after all that these records tell: they are an older state.
 * A host's name is spent before the host is made, so one that is not was planned by somebody who went on from here.
 * Shared resources have no such count: one that nothing recorded can do the work of was made later. Pure.
 */
export function newerThanRecords(
  { transaction, revision, resources }: PriorState,
  { unrecorded, observedResources }: Pick<Observation, "unrecorded" | "observedResources">,
  hostKind: string,
): Observed[] {
  if (transaction === undefined) return [];
  const planned = [...transaction.target.nodes, ...(revision?.target.nodes ?? [])].map(keyOf);
  const known = new Set<NodeKey>(planned);
  const aliveKinds = new Set(
    resources
      .filter(({ key }) => (observedResources.get(key) ?? "gone") !== "gone")
      .map(({ kind }) => kind),
  );
  const isSpent = (name: string) => {
    const { generation, incarnation } = splitHostName(name);
    return incarnation <= (transaction.spent[generation] ?? 0);
  };
  return unrecorded.filter(
    ({ phase, who }) =>
      phase !== "gone" &&
      who.clusterUid === transaction.clusterUid &&
      !known.has(keyOf(who)) &&
      !(who.kind === hostKind ? isSpent(who.name) : aliveKinds.has(who.kind)),
  );
}

/**
 * What may be found again instead of made: creations that an engine was killed in, and what the cloud
 * shows of this life of the cluster. The cloud's word comes first.
 */
export function unrecordedCreations({
  prior,
  unrecorded,
  newClusterUid,
}: PlanInput): UnrecordedCreation[] {
  const uid = prior.transaction?.clusterUid ?? newClusterUid;
  const shown = unrecorded
    .filter(({ phase, who }) => phase !== "gone" && who.clusterUid === uid)
    .map(({ id, who, spec, status }) => ({
      kind: who.kind,
      name: who.name,
      spec,
      found: { id, status },
    }));
  const keys = new Set(shown.map(({ kind, name }) => nodeKey(kind, name)));
  const interrupted = prior.pending
    .filter(({ type, key }) => type === "creating" && !keys.has(key))
    .map(({ key, kind, inputs }) => ({
      kind,
      name: key.slice(kind.length + 1),
      spec: (inputs["spec"] ?? {}) as JsonObject,
    }));
  return [...shown, ...interrupted];
}

/**
 * With a lost state, or an older one, the cloud itself remembers which incarnations there were in this cluster's life.
 * Beside records only the dead count: what is alive may be found again under its name.
 */
export function spentSoFar({ prior, provider, unrecorded, newClusterUid }: PlanInput): Spent {
  const { clusterUid, spent } = prior.transaction ?? { clusterUid: newClusterUid, spent: {} };
  const hosts = unrecorded.filter(
    ({ who, phase }) =>
      who.kind === provider.hostKind &&
      who.clusterUid === clusterUid &&
      (prior.transaction === undefined || phase === "gone"),
  );
  return spendIncarnations(
    spent,
    hosts.map(({ who }) => who.name),
  );
}

/**
 * A host that is to be found rather than made: planned by an unfinished transaction, unless the
 * cloud shows that it lived and died, or failed; or, without any record, what the cloud holds of the machine.
 */
export function plannedHost(
  { prior, provider, unrecorded }: PlanInput,
  machine: string,
): { readonly planned?: PlannedHost } {
  const last = prior.transaction;
  if (last === undefined) {
    const found = unrecorded.find(
      ({ who, phase }) =>
        phase !== "gone" && who.kind === provider.hostKind && isHostOf(machine, who.name),
    );
    return found === undefined ? {} : { planned: { name: found.who.name } };
  }
  if (last.number === prior.revision?.number) return {};
  const key = last.target.machines.find(({ name }) => name === machine)?.host;
  const node = last.target.nodes.find((one) => keyOf(one) === key);
  if (node === undefined) return {};
  const seen = unrecorded.find(({ who }) => who.name === node.name);
  if (seen?.phase === "gone" || seen?.phase === "failed") return {};
  const { name, spec } = node;
  return { planned: omitUndefined({ name, spec, seen: seen?.spec }) };
}
