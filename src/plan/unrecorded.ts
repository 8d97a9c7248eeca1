import type { JsonObject } from "../api/json.js";
import { unknownValue } from "../api/unknown.js";
import { type GraphNode, keyOf, nodeKey, type NodeKey, resolveRefs } from "../graph/graph.js";
import type { Observed } from "../provider/port.js";
import { isHostOf, spendIncarnations } from "./hosts.js";
import { canServe } from "./judge.js";
import type { Plan, PlanInput } from "./plan.js";
import { cloudResources, type PriorState, type Spent, type Target } from "./target.js";

// What the cloud holds and no record does, as far as it decides what is planned.

/**
 * Everything alive that neither state nor target knows. With a recorded cluster UID it is ours, left
 * by an apply whose engine forgot it; interrupted creations are resolved by themselves. Without a
 * record it may be anybody's of that name.
 */
export function unknownResources(
  { prior, provider, strangers }: PlanInput,
  { nodes }: Target,
): Pick<Plan, "abandoned" | "strangers"> {
  const alive = strangers.filter(({ phase }) => phase !== "gone");
  const ours = ({ who }: Observed) => who.clusterUid === prior.transaction?.clusterUid;
  const wanted = new Map(nodes.map((node) => [keyOf(node), node]));
  const resolve = resolverOf(prior, alive);
  const unfit = alive.filter(ours).some(({ who, spec }) => {
    const node = wanted.get(nodeKey(who.kind, who.name));
    if (node === undefined) return false;
    return !canServe(provider.verdict(who.kind, spec, resolve(node.spec)));
  });
  // What cannot serve under its name makes way for what will; and so does what was made to use it.
  const known = new Set(unfit ? [] : [...wanted.keys(), ...prior.pending.map(({ key }) => key)]);
  const unknown = alive.filter(({ who }) => !known.has(nodeKey(who.kind, who.name)));
  return {
    abandoned: unknown.filter(ours).map(({ id, who }) => ({ id, who })),
    strangers: unknown
      .filter((observed) => !ours(observed))
      .map(({ id, who }) => `${who.kind} ${who.name} (${id})`),
  };
}

/** Puts what is recorded or found in the place of Refs; what does not exist yet stays unknown. */
function resolverOf(prior: PriorState, alive: readonly Observed[]) {
  const known = new Map<NodeKey, { readonly id: string; readonly status: JsonObject }>([
    ...alive.map((one) => [nodeKey(one.who.kind, one.who.name), one] as const),
    ...cloudResources(prior).map(({ key, id = "", outputs }) => {
      const status = (outputs["status"] ?? {}) as JsonObject;
      return [key, { id, status }] as const;
    }),
  ]);
  return (spec: GraphNode["spec"]): JsonObject =>
    resolveRefs(spec, ({ $ref, output }) => {
      const found = known.get($ref);
      if (found === undefined) return unknownValue;
      return output === "id" ? found.id : (found.status[output] ?? unknownValue);
    });
}

/** With a lost state the cloud itself remembers which incarnations there were in this cluster's life. */
export function spentSoFar({ prior, provider, strangers, newClusterUid }: PlanInput): Spent {
  if (prior.transaction !== undefined) return prior.transaction.spent;
  const hosts = strangers.filter(
    ({ who }) => who.kind === provider.hostKind && who.clusterUid === newClusterUid,
  );
  return spendIncarnations(
    {},
    hosts.map(({ who }) => who.name),
  );
}

/**
 * A host that is to be found rather than made: planned by an unfinished transaction, unless the
 * cloud shows that it lived and died, or failed; or, without any record, what the cloud holds of the machine.
 */
export function plannedHost({ prior, provider, strangers }: PlanInput, machine: string) {
  const last = prior.transaction;
  if (last === undefined) {
    const found = strangers.find(
      ({ who, phase }) =>
        phase !== "gone" && who.kind === provider.hostKind && isHostOf(machine, who.name),
    );
    return found === undefined ? {} : { planned: { name: found.who.name } };
  }
  if (last.number === prior.revision?.number) return {};
  const key = last.target.machines.find(({ name }) => name === machine)?.host;
  const node = last.target.nodes.find((one) => keyOf(one) === key);
  if (node === undefined) return {};
  const ended = strangers.some(
    ({ who, phase }) => who.name === node.name && (phase === "gone" || phase === "failed"),
  );
  return ended ? {} : { planned: { name: node.name, spec: node.spec } };
}
