import { digestOf } from "../api/digest.js";
import { domainOffer, namedDomain } from "../api/failure-domains.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import { type AnyObject, type ClusterObject, type Desired, providerValue } from "../api/types.js";
import type { Annotations } from "../api/update-policy.js";
import type { KeyStage } from "../api/key-stage.js";
import {
  type GraphNode,
  keyOf,
  type NodeKey,
  type ResourceGraph,
  nodeKey,
} from "../graph/graph.js";
import type { Lookups } from "../provider/port.js";
import type { ExpandedMachine } from "../sets/expanded.js";

/**
 * Where a transaction leads: the complete graph with frozen inputs and incarnations, and the
 * objects it was made from. Recorded in Transaction before anything is done, in Revision after.
 */
export interface Target {
  readonly cluster: string;
  readonly provider: string;
  /** The users' objects, validated and defaulted. */
  readonly objects: readonly AnyObject[];
  readonly machines: readonly TargetMachine[];
  readonly nodes: ResourceGraph;
  /** Which of the cluster's keys its hosts are made with; absent: the first ones. */
  readonly keyStage?: KeyStage;
  /** What its provider has looked up for it, answers by the digest of their questions; absent: nothing. */
  readonly lookups?: Lookups;
  /** What it uses that is not ours, pinned; absent: nothing. No node refers to it any more. */
  readonly externals?: ResourceGraph;
  /** Fields of the provider's objects in it that hold secrets; absent: none. */
  readonly secretFields?: readonly string[];
}

export interface TargetMachine extends ExpandedMachine {
  readonly controlPlane: boolean;
  /** The node of the host that serves the machine. */
  readonly host: NodeKey;
  /** The machine that the host was made for, where an adoption has found another one that serves it. */
  readonly duplicateOf?: string;
  /** What its object said of its deletion, of one that no recorded object describes any more; absent: nothing. */
  readonly deletionAnnotations?: Annotations;
}

/** Whether there is to be a control plane: a cluster without goes as a whole, and nobody is left to ask. Pure. */
export function keepsControlPlane({ machines }: Target): boolean {
  return machines.some(({ controlPlane }) => controlPlane);
}

/** The nodes that live with these hosts, which serve once all of them are ready. Pure. */
export function livingWith(hosts: readonly NodeKey[], { nodes }: Target): NodeKey[] {
  const among = new Set(hosts);
  return nodes.filter(({ host }) => host !== undefined && among.has(host)).map(keyOf);
}

/**
 * Nodes in the order of a target: what machines share, then each machine's component and host, then what lives with hosts. Digests of targets
 * depend on it. Pure.
 */
export function inTargetOrder(
  nodes: ResourceGraph,
  machines: readonly Pick<TargetMachine, "name">[],
): ResourceGraph {
  const ranks = new Map(machines.map(({ name }, rank) => [machineKey(name), rank]));
  const rankOf = (node: GraphNode) =>
    node.host === undefined ? (ranks.get(node.parent ?? keyOf(node)) ?? -1) : machines.length;
  return nodes.toSorted((left, right) => rankOf(left) - rankOf(right));
}

/** Digest that tells whether two targets are the same. */
export function targetDigest(target: Target): string {
  return digestOf(target, 32);
}

/** The component around a machine's hosts. */
export function machineKey(machine: string): NodeKey {
  return nodeKey("Machine", machine);
}

/** The name of the machine whose component this is; undefined for any other node. Pure. */
export function machineOfKey(key: NodeKey): string | undefined {
  const prefix = machineKey("");
  return key.startsWith(prefix) ? key.slice(prefix.length) : undefined;
}

/**
 * The failure domain of a target's machine, chosen by Capstan or by its user; undefined where the cluster offers none.
 * Without a provider only what Capstan has chosen. Pure.
 */
export function failureDomainOf(
  { failureDomain, spec }: TargetMachine,
  target: Target,
  provider?: Pick<ProviderSpecs, "failureDomains">,
): string | undefined {
  const offer = provider && domainOffer(provider, providerValue(clusterIn(target).spec));
  return failureDomain ?? (offer && namedDomain(spec, offer.field));
}

/** The Cluster that a target is about. */
export function clusterIn(target: Target): ClusterObject {
  const cluster = target.objects.find(({ kind }) => kind === "Cluster");
  if (cluster?.kind !== "Cluster") throw new Error("a target holds its Cluster");
  return cluster;
}

/** The objects of a graph, by kind. Pure. */
export function desiredIn(target: Target): Desired {
  const of = <K extends AnyObject["kind"]>(kind: K) =>
    target.objects.filter((one): one is Extract<AnyObject, { kind: K }> => one.kind === kind);
  return {
    cluster: clusterIn(target),
    machines: of("Machine"),
    machineSets: of("MachineSet"),
    machineDeployments: of("MachineDeployment"),
    drainRules: of("MachineDrainRule"),
    healthChecks: of("MachineHealthCheck"),
  };
}

/** The same cluster with nothing in it: where the rollback of a first creation goes. Pure. */
export function emptied(target: Target): Target {
  const { lookups: _lookups, externals: _externals, ...rest } = target;
  return { ...rest, objects: [clusterIn(target)], machines: [], nodes: [] };
}
