import { askedStage, firstStage } from "../../api/key-stage.js";
import { isJsonObject, type Json, type JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { type AnyObject, type Desired, isControlPlane, type MachineSpec } from "../../api/types.js";
import { informed } from "../../compile/lookups.js";
import {
  type GraphNode,
  isRef,
  keyOf,
  nodeKey,
  type NodeKey,
  type Ref,
} from "../../graph/graph.js";
import { nearestChoice } from "../../provider/alternatives.js";
import type { InfrastructureProvider, Lookups, Observed, Verdict } from "../../provider/port.js";
import { asKnown, unobservableOf } from "../../provider/unobservable.js";
import type { ExpandedMachine } from "../../sets/expanded.js";
import { inNameOrder } from "../../sets/name-order.js";
import { isOwning, ownerText } from "../../sets/owning-objects.js";
import { machineKey, type Target, type TargetMachine } from "../../records/target.js";
import { domainsOf, newestReadyFirst, placedAsFound } from "./found-domains.js";
import { machineNameOf } from "../../records/host-name.js";
import { isGenerationOf, nodeBehind } from "./infrastructure.js";
import type { Plan } from "../plan.js";
import { ownerNamed, satellitePolicies } from "./satellite-policies.js";
import { satelliteModel, satelliteOfFound } from "./satellites.js";
import { type ExternalSights, type ObservedResources } from "../observation.js";
import { type PriorState, type RecordedResource } from "../../records/prior-state.js";
import type { RevisionRecord } from "../../records/transaction.js";
import { compiled, type CompiledGoal, type GoalFacts } from "../goal/compiled-goal.js";

// A lost state is made anew from what the cloud shows, before anything is changed: ADR 16. Pure.

export interface FoundCluster {
  /** What the manifests want: what the cloud does not tell is taken from them. */
  readonly desired: Desired;
  readonly provider: InfrastructureProvider;
  /** Everything of one life of the cluster that is alive. */
  readonly found: readonly Observed[];
  readonly nowMs: number;
  /** Answers to what the provider looks up. */
  readonly lookups?: Lookups;
  /** What is not ours and used. */
  readonly externals?: ExternalSights;
}

/** What was found, with what its cloud cannot show as the manifests have it. Pure. */
export function asManifestsTell(cluster: FoundCluster): Observed[] {
  const { provider, found } = cluster;
  const compiledGoal = goalOn(cluster);
  return found.map((one) => {
    const model = modelOf(one, compiledGoal, provider)?.spec;
    return asKnown(one, unobservableOf(provider, one.who.kind), model);
  });
}

/** What the manifests come to for a cluster without records: whose host is there stays in its failure domain. */
function goalOn(cluster: FoundCluster): CompiledGoal {
  const { desired, provider, found, nowMs, lookups, externals } = cluster;
  const facts: GoalFacts = omitUndefined({
    recorded: [],
    nowMs,
    foundDomains: domainsOf(found, desired, informed(provider, lookups)),
    lookups,
    externals: externals && { seen: externals, pinned: [] },
  });
  return compiled(desired, provider, facts);
}

/**
 * The graph that the cloud shows: each resource under its own name with the inputs that it has, each host
 * with a machine. A second host of one machine counts as a machine of its own, so that it is kept until a
 * plan shows that it goes. Only objects that something was found of are in it, and sets are as large as they
 * were found. Pure.
 */
export function foundTarget(cluster: FoundCluster): Target {
  const { desired, provider, found, lookups } = cluster;
  const compiledGoal = goalOn(cluster);
  const told = { desired, provider: informed(provider, lookups) };
  const policies = satellitePolicies(compiledGoal, told);
  const hosts = found.filter(({ who }) => who.kind === provider.hostKind);
  const machines = machinesOf(hosts, compiledGoal, cluster);
  const control = machines.filter((machine) => machine.controlPlane).map(({ host }) => host);
  const nodeOf = (resource: Observed): GraphNode => {
    const { kind, name } = resource.who;
    const model =
      modelOf(resource, compiledGoal, provider) ??
      satelliteOfFound(resource, { found, policies, hostKind: provider.hostKind });
    const machine = machines.find(({ host }) => host === nodeKey(kind, name));
    const after = machine === undefined ? (model?.dependsOn ?? []) : control;
    const dependsOn = machine?.controlPlane === true ? [] : foundAs(after, found);
    return omitUndefined({
      kind,
      name,
      type: "resource",
      parent: machine && machineKey(machine.name),
      spec: withRefs(resource.spec, model?.spec ?? {}, found) as JsonObject,
      dependsOn,
      host: model?.host,
      keep: model?.keep,
    });
  };
  const stage = askedStage(desired.cluster) ?? firstStage;
  return omitUndefined<Target>({
    // Nobody but the manifests knows it.
    keyStage: stage === firstStage ? undefined : stage,
    cluster: `${desired.cluster.metadata.namespace}/${desired.cluster.metadata.name}`,
    provider: provider.name,
    lookups: compiledGoal.lookups,
    externals: compiledGoal.externals.length === 0 ? undefined : compiledGoal.externals,
    objects: foundObjects(
      compiledGoal.objects,
      machines,
      new Set(compiledGoal.machines.map(({ spec }) => spec)),
    ),
    machines,
    nodes: [
      ...found.filter(({ who }) => who.kind !== provider.hostKind).map(nodeOf),
      ...machines.flatMap((machine): GraphNode[] => {
        const host = hosts.find(({ who }) => nodeKey(who.kind, who.name) === machine.host);
        const { name } = machine;
        return [
          { kind: "Machine", name, type: "component", spec: {}, dependsOn: [] },
          ...(host === undefined ? [] : [nodeOf(host)]),
        ];
      }),
    ],
  });
}

/** The records as they will be once an adoption is committed: what is planned behind it is planned from them. Pure. */
export function afterAdoption(
  { target, transaction }: Plan,
  found: readonly Observed[],
): { readonly prior: PriorState; readonly observedResources: ObservedResources } {
  const byKey = new Map(found.map((one) => [nodeKey(one.who.kind, one.who.name), one]));
  const resources = target.nodes.flatMap((node): RecordedResource[] => {
    const key = keyOf(node);
    const observed = byKey.get(key);
    if (observed === undefined) return [];
    const { id, who, spec, status } = observed;
    return [
      omitUndefined({
        urn: key,
        key,
        kind: node.kind,
        name: node.name,
        type: "resource",
        id,
        parent: node.parent,
        inputs: { who, spec },
        secretInputs: [],
        outputs: { who, spec, status },
        dependsOn: node.dependsOn,
        unfinished: false,
        deleting: false,
      }),
    ];
  });
  const revision: RevisionRecord = { number: transaction.number, target, history: [] };
  return {
    prior: { resources, pending: [], transaction: { ...transaction, target }, revision },
    observedResources: new Map(byKey),
  };
}

/** Machines in name order, one for each host. */
function machinesOf(
  hosts: readonly Observed[],
  compiledGoal: CompiledGoal,
  { provider, desired }: FoundCluster,
): TargetMachine[] {
  const known = new Map(compiledGoal.machines.map((machine) => [machine.name, machine]));
  const taken = new Set<string>();
  const fits = (host: Observed) => fitOf(host, compiledGoal, provider);
  // What the manifests want stays, whether it runs yet or not: the same words lead to the same target.
  const bestFirst = [...hosts].sort(
    (left, right) => fits(right) - fits(left) || newestReadyFirst(left, right),
  );
  const machines = bestFirst.map(({ who, spec: seen }): TargetMachine => {
    const machine = machineNameOf(who.name);
    // An earlier adoption has named a double after its host, and that got another one since.
    const doubled = machineNameOf(machine);
    const original = !known.has(machine) && known.has(doubled) ? doubled : machine;
    const isDuplicate = original !== machine || taken.has(machine);
    const name = taken.has(machine) ? who.name : machine;
    taken.add(name);
    const same = known.get(original);
    const { spec, failureDomain } = specOf(seen, same, { compiledGoal, provider });
    const owner = same === undefined ? ownerNamed(machine, desired) : same.owner;
    return omitUndefined({
      name,
      spec,
      controlPlane: isControlPlane(spec),
      host: nodeKey(who.kind, who.name),
      owner,
      failureDomain,
      duplicateOf: isDuplicate ? original : undefined,
    });
  });
  return machines.sort((left, right) => inNameOrder(left.name, right.name));
}

/** How well a host is what the manifests want of its machine: 2 as it is, 1 after a change in place, else 0. */
function fitOf(
  { who, spec }: Observed,
  { hosts }: CompiledGoal,
  provider: InfrastructureProvider,
): number {
  const asked = hosts.get(machineNameOf(who.name));
  if (asked === undefined) return 0;
  const { kind } = verdictOn(spec, asked, provider);
  return kind === "same" ? 2 : kind === "inPlace" ? 1 : 0;
}

/** What it takes to make of a host that is there what the manifests want of its machine. */
function verdictOn(seen: JsonObject, asked: JsonObject, provider: InfrastructureProvider): Verdict {
  const resolved = withValues(asked, seen) as JsonObject;
  return nearestChoice(provider, provider.hostKind, seen, resolved).verdict;
}

/**
 * As the manifests have it where that is what runs; else what the host tells about it. Where Capstan places machines,
 * the place is no part of what their users wrote.
 */
function specOf(
  seen: JsonObject,
  same: ExpandedMachine | undefined,
  {
    compiledGoal,
    provider,
  }: { readonly compiledGoal: CompiledGoal; readonly provider: InfrastructureProvider },
): Pick<TargetMachine, "spec" | "failureDomain"> {
  const asked = same === undefined ? undefined : compiledGoal.hosts.get(same.name);
  if (same !== undefined && asked !== undefined) {
    if (verdictOn(seen, asked, provider).kind === "same") {
      const { spec, failureDomain } = same;
      return omitUndefined({ spec, failureDomain });
    }
  }
  return placedAsFound(seen, same, { cluster: compiledGoal.cluster, provider });
}

/** Objects that something was found of; sets want as many machines as there are, of the kind that they are. */
function foundObjects(
  objects: readonly AnyObject[],
  machines: readonly TargetMachine[],
  known: ReadonlySet<MachineSpec>,
): AnyObject[] {
  return objects.flatMap((object) => {
    const name = `${object.kind} ${object.metadata.name}`;
    return asFoundObject(
      object,
      machines.filter((machine) => objectBehind(machine) === name),
      known,
    );
  });
}

/** An object as its machines are found; none without any. What the manifests say of them stands where it is so. */
function asFoundObject(
  object: AnyObject,
  machines: readonly TargetMachine[],
  known: ReadonlySet<MachineSpec>,
): AnyObject[] {
  if (!isOwning(object)) return [object];
  const [other] = machines.filter(({ spec }) => !known.has(spec));
  const [first] = machines;
  if (first === undefined) return [];
  const found = other?.spec;
  if (object.kind === "Machine") return [found === undefined ? object : { ...object, spec: found }];
  const replicas = machines.length;
  const { template } = object.spec;
  const asIs = found === undefined ? template : { ...template, spec: found };
  switch (object.kind) {
    case "MachineSet":
      return [{ ...object, spec: { ...object.spec, replicas, template: asIs } }];
    case "MachineDeployment":
      return [{ ...object, spec: { ...object.spec, replicas, template: asIs } }];
  }
}

function objectBehind({ name, owner, duplicateOf }: TargetMachine): string {
  if (owner === undefined) return duplicateOf === undefined ? `Machine ${name}` : "";
  return ownerText(owner);
}

/** What the manifests compile to in the place of a found resource: it says where values come from. */
function modelOf(
  { who }: Observed,
  { infrastructure, hosts, satellites = new Map() }: CompiledGoal,
  { hostKind }: InfrastructureProvider,
): Omit<GraphNode, "kind" | "name" | "type"> | undefined {
  if (who.kind !== hostKind) {
    return nodeBehind(infrastructure, who) ?? satelliteModel(who, satellites, hostKind);
  }
  const [any] = hosts.values();
  const spec = hosts.get(machineNameOf(who.name)) ?? any;
  return spec === undefined ? undefined : { spec, dependsOn: [] };
}

/** Found resources that stand for nodes of the manifests' graph. */
function foundAs(keys: readonly NodeKey[], found: readonly Observed[]): NodeKey[] {
  return found
    .filter(({ who }) =>
      keys.some((key) => {
        const [kind = "", name = ""] = key.split("/");
        return key === nodeKey(who.kind, who.name) || isGenerationOf({ kind, name }, who);
      }),
    )
    .map(({ who }) => nodeKey(who.kind, who.name));
}

/** The values that the cloud shows, with a Ref where the model has one to a resource that shows that value. */
function withRefs(seen: Json, model: Json, found: readonly Observed[]): Json {
  if (isRef(model)) return refTo(model, seen, found) ?? seen;
  if (Array.isArray(seen) && Array.isArray(model)) {
    const models: readonly Json[] = model;
    return seen.map((item: Json, index) => withRefs(item, models[index] ?? null, found));
  }
  if (!isJsonObject(seen) || !isJsonObject(model)) return seen;
  return Object.fromEntries(
    Object.entries(seen).map(([key, value]) => [key, withRefs(value, model[key] ?? null, found)]),
  );
}

function refTo(ref: Ref, value: Json, found: readonly Observed[]): Ref | undefined {
  const [kind = "", name = ""] = ref.$ref.split("/");
  const target = found.find(
    ({ who, id, status }) =>
      isGenerationOf({ kind, name }, who) &&
      (ref.output === "id" ? id : status[ref.output]) === value,
  );
  return target && { ...ref, $ref: nodeKey(target.who.kind, target.who.name) };
}

/** The model with the values that the cloud shows where it has Refs. */
function withValues(model: Json, seen: Json): Json {
  if (isRef(model)) return seen;
  if (Array.isArray(model)) {
    const values: readonly Json[] = Array.isArray(seen) ? seen : [];
    return model.map((item: Json, index) => withValues(item, values[index] ?? null));
  }
  if (!isJsonObject(model)) return model;
  const values = isJsonObject(seen) ? seen : {};
  return Object.fromEntries(
    Object.entries(model).map(([key, value]) => [key, withValues(value, values[key] ?? null)]),
  );
}
