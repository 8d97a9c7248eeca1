import { keyOf, nodeKey, type NodeKey, nodeName } from "../../graph/graph.js";
import type { JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { isLost } from "../../provider/failure.js";
import type { Observed } from "../../provider/port.js";
import type { UnrecordedCreation } from "./infrastructure.js";
import { type PlannedHost, spendIncarnations } from "./hosts.js";
import {
  hostKeysInName,
  hostsInName,
  isHostKey,
  isHostOf,
  splitHostName,
} from "../../records/host-name.js";
import type { Observation } from "../observation.js";
import { isOpen, type PriorState } from "../../records/prior-state.js";
import type { Plan } from "../plan.js";
import type { PlanInput } from "../plan-input.js";
import type { Spent } from "../../records/transaction.js";
import type { Target } from "../../records/target.js";

// What the cloud holds and no record does, as far as it decides what is planned.

/**
 * Everything alive that neither state nor target knows. With a recorded cluster UID it is ours, left by an apply whose engine
 * forgot it or was killed while it made that. `letGo` says what of it was there before that apply. Without a record it may be
 * anybody's of that name; what carries the name of an interrupted creation is looked for by itself.
 */
export function unknownResources(
  { prior, unrecorded, copies = [] }: PlanInput,
  { nodes }: Target,
  letGo: ReadonlySet<NodeKey>,
): Pick<Plan, "orphaned" | "unrecorded"> {
  const wanted = new Set(nodes.map(keyOf));
  const pending = new Set(prior.pending.map(({ key }) => key));
  const unknown = unrecorded.filter(
    ({ phase, who }) => phase !== "gone" && !wanted.has(keyOf(who)),
  );
  const ours = (observed: Observed) => hasRecordedUid(observed, prior);
  return {
    orphaned: unknown
      .filter(ours)
      .map(({ id, who }) =>
        letGo.has(nodeKey(who.kind, who.name)) ? { id, who, letGo: true } : { id, who },
      ),
    unrecorded: [
      ...unknown
        .filter((observed) => !ours(observed) && !pending.has(keyOf(observed.who)))
        .map(({ id, who }) => `${who.kind} ${who.name} (${id})`),
      ...copies.map(({ id, who }) => `${who.kind} ${who.name} (${id}), a copy with its marks`),
    ],
  };
}

/** Whether a resource carries the recorded cluster UID: an apply of this life of the cluster has made it. Pure. */
export function hasRecordedUid(
  { who }: Pick<Observed, "who">,
  { transaction }: Pick<PriorState, "transaction">,
): boolean {
  return who.clusterUid === transaction?.clusterUid;
}

/**
 * What is alive in this life of the cluster and was made after all that these records tell: they are an older state.
 * Whatever is made was planned and recorded before. A host's name is spent, and so is that of all that lives with a
 * host that is no longer there; of anything else the targets and what they superseded tell. Pure.
 */
export function newerThanRecords(
  prior: PriorState,
  { unrecorded }: Pick<Observation, "unrecorded">,
  hostKind: string,
): Observed[] {
  const { transaction } = prior;
  if (transaction === undefined) return [];
  const { spent, clusterUid, superseded = [] } = transaction;
  const known = new Set<NodeKey>([...plannedKeys(prior), ...superseded]);
  const present = hostsPresent(prior, hostKind);
  const isSpent = (host: string) => {
    const { generation, incarnation } = splitHostName(host);
    return incarnation <= (spent[generation] ?? 0);
  };
  const wasPlanned = ({ who: { kind, name } }: Observed) => {
    if (kind === hostKind) return isSpent(name);
    return hostsInName(name).some((host) => isSpent(host) && !present.has(nodeKey(hostKind, host)));
  };
  return unrecorded.filter(
    (one) =>
      one.phase !== "gone" &&
      one.who.clusterUid === clusterUid &&
      !known.has(keyOf(one.who)) &&
      !wasPlanned(one),
  );
}

/**
 * What earlier targets of this life wanted and `target` does not, hosts apart: an apply that broke off may have left it.
 * Of what lives with a host only as long as that is there, so that it does not grow for ever. Pure.
 */
export function supersededKeys(prior: PriorState, target: Target, hostKind: string): NodeKey[] {
  const wanted = new Set(target.nodes.map(keyOf));
  const present = new Set([...hostsPresent(prior, hostKind), ...wanted]);
  const earlier = new Set([...(prior.transaction?.superseded ?? []), ...plannedKeys(prior)]);
  return [...earlier]
    .filter((key) => {
      if (wanted.has(key) || isHostKey(key, hostKind)) return false;
      const hosts = hostKeysInName(nodeName(key), hostKind);
      return hosts.length === 0 || hosts.some((host) => present.has(host));
    })
    .sort();
}

/** What the cloud may hold by the present targets. */
function plannedKeys({ transaction, revision }: PriorState): NodeKey[] {
  const nodes = [...(revision?.target.nodes ?? []), ...(transaction?.target.nodes ?? [])];
  return nodes.filter(({ type }) => type === "resource").map(keyOf);
}

/** Hosts that a target names or a record describes. */
function hostsPresent(prior: PriorState, hostKind: string): ReadonlySet<NodeKey> {
  const recorded = prior.resources.map(({ key }) => key);
  return new Set([...plannedKeys(prior), ...recorded].filter((key) => isHostKey(key, hostKind)));
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
    .map((one) => ({
      kind: one.who.kind,
      name: one.who.name,
      spec: one.spec,
      found: { id: one.id, status: one.status },
      isLost: isLost(one),
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
 * Names, hosts apart, that earlier targets of this life had and that the last one has not, unless the cloud still shows them, and
 * those of what is lost whose token leads to it for ever. They are not given again: a token may lead to what it made once. Pure.
 */
export function usedNames(input: PlanInput): ReadonlySet<NodeKey> {
  const { prior, unrecorded, observedResources, provider } = input;
  const { transaction, resources } = prior;
  const isGone = ({ key }: { readonly key: NodeKey }) => observedResources.get(key) === "gone";
  const lost = resources.filter(
    (one) => isGone(one) && provider.handlers.get(one.kind)?.tokensLast === true,
  );
  const alive = new Set<NodeKey>([
    ...resources.filter((one) => !isGone(one)).map(({ key }) => key),
    ...unrecorded.filter(({ phase }) => phase !== "gone").map(({ who }) => keyOf(who)),
  ]);
  const earlier = [...(transaction?.superseded ?? []), ...lost.map(({ key }) => key)];
  return new Set(earlier.filter((key) => !alive.has(key)));
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
 * cloud shows that it lived and died, or failed; one that was committed and lost its record; or, without any record, what the
 * cloud holds of the machine.
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
  const key = last.target.machines.find(({ name }) => name === machine)?.host;
  const node = last.target.nodes.find((one) => keyOf(one) === key);
  if (node === undefined) return {};
  const seen = unrecorded.find(({ who }) => who.name === node.name);
  if (seen === undefined && !isOpen(prior)) return {};
  if (seen !== undefined && (seen.phase === "gone" || isLost(seen))) return {};
  const { name, spec } = node;
  return { planned: omitUndefined({ name, spec, seen: seen?.spec }) };
}
