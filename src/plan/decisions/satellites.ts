import { isJsonObject, type Json, type JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import {
  type GraphNode,
  keyOf,
  nodeKey,
  type NodeKey,
  type Ref,
  refTo,
} from "../../graph/graph.js";
import { satelliteNode, withHost } from "../../compile/satellites.js";
import type { InfrastructureProvider, Observed, Satellite } from "../../provider/port.js";
import {
  cloudResources,
  knownMachines,
  type RecordedResource,
  recordedStatus,
} from "../../records/prior-state.js";
import type { CompiledGoal } from "../goal/compiled-goal.js";
import type { PlanInput } from "../plan-input.js";
import { directionOf } from "../../records/transaction.js";
import type { DecidedHost } from "./decided.js";
import {
  isFoundToStay,
  isToldToStay,
  policiesBefore,
  type SatellitePolicies,
} from "./satellite-policies.js";
import { hostsInName, isHostKey, machineNameOf } from "../../records/host-name.js";
import {
  type Existing,
  type InfrastructureDecision,
  type InfrastructurePlan,
  type KnownInfrastructure,
  nodeBehind,
  outputOf,
  planInfrastructure,
} from "./infrastructure.js";

/** Decides for each satellite of each decided host as for what machines share. Pure. */
export function planSatellites(
  input: PlanInput,
  { satellites, isFrozen }: Pick<CompiledGoal, "satellites" | "isFrozen">,
  hosts: readonly Pick<DecidedHost, "machine" | "decision">[],
  shared: KnownInfrastructure & Pick<InfrastructurePlan, "rename" | "resolve">,
): readonly InfrastructureDecision[] {
  if (satellites === undefined || satellites.size === 0) return [];
  const { provider } = input;
  const nodes = hosts.flatMap(({ machine, decision }) =>
    (satellites.get(machine.name) ?? []).map((satellite) => {
      const host = nodeKey(provider.hostKind, decision.name);
      const spec = withHost(satellite.spec, nodeKey(provider.hostKind, machine.name), host);
      return satelliteNode({ ...satellite, spec: shared.rename(spec) }, host);
    }),
  );
  const hostOf = existingHosts(input);
  const outside = (ref: Ref): Json =>
    isHostKey(ref.$ref, provider.hostKind)
      ? outputOf(hostOf(ref.$ref), ref)
      : shared.resolve<Json>(ref);
  const known = { ...shared, outside };
  return planInfrastructure(provider, { infrastructure: nodes, isFrozen }, known).decisions;
}

/** What the manifests compile to in the place of a satellite that was found: its name tells whose it is. Pure. */
export function satelliteModel(
  { kind, name }: Pick<GraphNode, "kind" | "name">,
  satellites: ReadonlyMap<string, readonly Satellite[]>,
  hostKind: string,
): GraphNode | undefined {
  const nodes = [...satellites].flatMap(([machine, own]) => {
    if (!name.startsWith(`${machine}-`)) return [];
    const [, generation] = /^(-[0-9a-f]{8}-\d+)-/.exec(name.slice(machine.length)) ?? [];
    if (generation === undefined) return [];
    const host = nodeKey(hostKind, `${machine}${generation}`);
    return own.map((one) => {
      const spec = withHost(one.spec, nodeKey(hostKind, machine), host);
      return satelliteNode({ ...one, spec }, host);
    });
  });
  return nodeBehind(nodes, { kind, name });
}

/**
 * The same where the manifests do not know its machine: it goes before its host all the same, and an id of something
 * else that was found is a Ref to that, so that a way back to it can be gone. Its name tells whose it was of one that
 * has outlived its host. Pure.
 */
export function satelliteOfFound(
  { who: { kind, name }, spec }: Observed,
  { found, policies, hostKind }: FoundBeside,
): Pick<GraphNode, "spec" | "dependsOn" | "host" | "keep"> | undefined {
  const there = new Set(found.map(({ who }) => keyOf(who)));
  const host = hostOfFound(name, there, hostKind);
  if (host === undefined) return undefined;
  const key = nodeKey(hostKind, host);
  const ids = new Map(found.map(({ id, who }) => [id, refTo(who.kind, who.name)]));
  const own = { kind, name: name.slice(`${host}-`.length) };
  return omitUndefined({
    spec: withRefsTo(ids, spec),
    dependsOn: [key],
    host: key,
    keep: isFoundToStay(own, machineNameOf(host), policies) || undefined,
  });
}

/** Which host something lives with that only its name tells of: one that is there goes before others. */
function hostOfFound(
  name: string,
  there: ReadonlySet<NodeKey>,
  hostKind: string,
): string | undefined {
  const hosts = hostsInName(name);
  return hosts.find((one) => there.has(nodeKey(hostKind, one))) ?? hosts.at(-1);
}

/** Everything that was found, and what the manifests tell of what lives with hosts. */
interface FoundBeside {
  readonly found: readonly Observed[];
  readonly policies: SatellitePolicies;
  readonly hostKind: string;
}

function withRefsTo(ids: ReadonlyMap<string, Ref>, spec: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(spec).map(([field, value]): [string, Json] => {
      if (isJsonObject(value)) return [field, withRefsTo(ids, value)];
      return [field, (typeof value === "string" ? ids.get(value) : undefined) ?? value];
    }),
  );
}

/**
 * Without what has outlived its host and is gone by now: made again it would be nobody's, and mostly cannot be, as a way
 * back to an adoption would find out. Pure.
 */
export function withoutOutlived(
  decisions: readonly InfrastructureDecision[],
): readonly InfrastructureDecision[] {
  return decisions.filter(
    ({ node, kind }) => node.host === undefined || (kind !== "create" && kind !== "replace"),
  );
}

/** The host that a recorded resource lives with; undefined of all others. Pure. */
export function recordedHostOf(
  { kind, dependsOn }: Pick<RecordedResource, "kind" | "dependsOn">,
  { hostKind }: Pick<InfrastructureProvider, "hostKind">,
): NodeKey | undefined {
  if (kind === hostKind) return undefined;
  return dependsOn.find((key) => isHostKey(key, hostKind));
}

/**
 * Satellites that are to outlive their hosts, as far as they are not wanted any more: also those of a change that was never committed, where
 * that is not taken back. Its hosts may have run for long. Of all that goes with a change its manifests count, too. Pure.
 */
export function keptSatellites(
  input: Pick<PlanInput, "prior" | "goal" | "provider" | "unrecorded" | "ledBy">,
  wanted: ReadonlySet<NodeKey>,
  told: SatellitePolicies | undefined,
): NodeKey[] {
  const { prior, goal, provider } = input;
  const { revision, transaction } = prior;
  const isBack = directionOf(goal) === "back";
  const targets = [revision?.target, isBack ? undefined : transaction?.target];
  const nodes = targets
    .flatMap((one) => one?.nodes ?? [])
    .filter((node) => !wanted.has(keyOf(node)));
  const kept = nodes.filter((node) => node.keep === true).map(keyOf);
  if (isBack) return [...new Set(kept)];
  const before = told ?? policiesBefore(input);
  if (before !== undefined) kept.push(...keptAmongFound(input, wanted, before));
  if (told !== undefined) {
    const records = cloudResources(prior)
      .filter(({ key }) => !wanted.has(key))
      .map((one) => ({ ...one, host: recordedHostOf(one, provider) }));
    const machines = knownMachines(prior);
    const stays = [...nodes, ...records].filter((one) => isToldToStay(one, told, machines));
    kept.push(...stays.map(keyOf));
  }
  return [...new Set(kept)];
}

/** The same of what no record tells of, as where the records are older than the cloud. */
function keptAmongFound(
  { prior, provider: { hostKind }, unrecorded }: Parameters<typeof keptSatellites>[0],
  wanted: ReadonlySet<NodeKey>,
  told: SatellitePolicies,
): NodeKey[] {
  const there = new Set([
    ...cloudResources(prior).map(({ key }) => key),
    ...unrecorded.map(({ who }) => keyOf(who)),
  ]);
  return unrecorded
    .filter(({ who }) => who.kind !== hostKind && !wanted.has(keyOf(who)))
    .filter(({ who: { kind, name } }) => {
      const host = hostOfFound(name, there, hostKind);
      if (host === undefined) return false;
      const own = { kind, name: name.slice(`${host}-`.length) };
      return isFoundToStay(own, machineNameOf(host), told);
    })
    .map(({ who }) => keyOf(who));
}

/** A host as the records or the cloud have it; undefined of one that is not there. */
function existingHosts({
  prior,
  observedResources,
  unrecorded,
}: PlanInput): (key: NodeKey) => Existing | undefined {
  const records = new Map(cloudResources(prior).map((one) => [one.key, one]));
  const shown = new Map(unrecorded.map(({ who, ...one }) => [nodeKey(who.kind, who.name), one]));
  return (key) => {
    const record = records.get(key);
    if (record === undefined) return shown.get(key);
    if (observedResources.get(key) === "gone") return undefined;
    return omitUndefined({ id: record.id, status: recordedStatus(record) });
  };
}
