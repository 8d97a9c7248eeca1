import ipaddr from "ipaddr.js";
import { asJson, isJsonObject, type Json, type JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { AnyObject } from "../../api/types.js";
import { type GraphNode, isRef, keyOf, nodeKey, type NodeKey } from "../../graph/graph.js";
import {
  compareItems,
  type ItemDifference,
  itemsOf,
  type TargetDifference,
  type TargetItems,
  type ValueDifference,
} from "./compare.js";
import { type Target, type TargetMachine, clusterIn } from "../../records/target.js";

/** What two clusters are compared for. */
export interface Comparison {
  /** Also what has to differ between two clusters. */
  readonly all: boolean;
  /** Whether addresses and ranges of addresses count. */
  readonly addresses: boolean;
}

/**
 * What leads from one cluster to another, apart from what cannot be the same in both: the Cluster's
 * name and namespace, names that begin with it, labels and tags that carry it, what an API server
 * writes, generated names of sets, hosts and later generations, and gaps in the numbers of a set's
 * machines. Things are matched by what is left of their names. Pure.
 */
export function compareClusters(
  from: Target,
  to: Target,
  { all, addresses }: Comparison,
): TargetDifference {
  const found = compareItems(clusterItems(from, all), clusterItems(to, all));
  if (addresses) return found;
  return {
    objects: withoutAddresses(found.objects),
    machines: withoutAddresses(found.machines),
    infrastructure: withoutAddresses(found.infrastructure),
  };
}

/** Items under their neutral names; with all they have to tell, or with what can be compared. */
function clusterItems(target: Target, all: boolean): TargetItems {
  const neutral = itemsOf(neutralTarget(target), neutralObjectName);
  if (!all) return neutral;
  const own = itemsOf(target);
  return {
    objects: renamed(neutral.objects, own.objects),
    machines: renamed(neutral.machines, own.machines),
    infrastructure: renamed(neutral.infrastructure, own.infrastructure),
  };
}

/** Both are in the order of the same target. */
function renamed<T>(names: ReadonlyMap<string, T>, items: ReadonlyMap<string, T>): Map<string, T> {
  const own = [...items.values()];
  return new Map([...names.keys()].map((name, place) => [name, own[place] as T]));
}

function neutralObjectName({ kind, metadata }: AnyObject): string {
  return kind === "Cluster" ? kind : `${kind} ${metadata.name}`;
}

/** Names of one cluster with what is neutral about them. */
interface NeutralNames {
  readonly of: (name: string) => string;
  readonly machines: ReadonlyMap<string, string>;
  /** Of machines of sets: how many members of the set come before it. */
  readonly places: ReadonlyMap<string, number>;
  readonly keys: ReadonlyMap<NodeKey, NodeKey>;
}

function neutralTarget(target: Target): Target {
  const names = neutralNames(target);
  return {
    ...target,
    cluster: "{cluster}",
    objects: target.objects.map((object) => neutralObject(object, names)),
    machines: target.machines.map((machine) => neutralMachine(machine, names)),
    nodes: target.nodes.map((node) => neutralNode(node, names)),
  };
}

function neutralNames(target: Target): NeutralNames {
  const cluster = clusterIn(target).metadata.name;
  const of = (name: string) =>
    name === cluster || name.startsWith(`${cluster}-`)
      ? `{cluster}${name.slice(cluster.length)}`
      : name;
  const taken = new Set<string>();
  const places = placesOf(target.machines);
  const machines = new Map(
    target.machines.map(({ name, owner }) => {
      const set =
        owner?.machineDeployment === undefined ? owner?.machineSet : `${owner.machineDeployment}-*`;
      const wanted = set === undefined ? name : `${set}-${places.get(name) ?? 0}`;
      return [name, unique(of(wanted), taken)] as const;
    }),
  );
  const machineOf = new Map(target.machines.map(({ name, host }) => [host, name]));
  const keys = new Map<NodeKey, NodeKey>();
  for (const node of target.nodes) {
    const machine = machineOf.get(keyOf(node)) ?? (node.kind === "Machine" ? node.name : undefined);
    const name = machine === undefined ? undefined : machines.get(machine);
    const neutral = name ?? of(node.name).replace(/-[0-9a-f]{8}$/, "");
    const [kind, ...rest] = unique(`${node.kind}/${neutral}`, taken).split("/");
    keys.set(keyOf(node), nodeKey(kind ?? node.kind, rest.join("/")));
  }
  return { of, machines, places, keys };
}

/** Who was taken out of the middle of a set leaves a gap, which tells nothing about the others. */
function placesOf(machines: readonly TargetMachine[]): Map<string, number> {
  const sizes = new Map<string, number>();
  const inOrder = machines
    .flatMap(({ name, owner }) => (owner === undefined ? [] : [{ name, ...owner }]))
    .sort((left, right) => left.ordinal - right.ordinal);
  return new Map(
    inOrder.map(({ name, machineSet }) => {
      const place = sizes.get(machineSet) ?? 0;
      sizes.set(machineSet, place + 1);
      return [name, place];
    }),
  );
}

/** During a rollout a deployment has machines of the same place twice: none of them may go unseen. */
function unique(name: string, taken: Set<string>): string {
  let free = name;
  for (let count = 2; taken.has(free); count += 1) free = `${name} (${count})`;
  taken.add(free);
  return free;
}

function neutralObject({ metadata, ...object }: AnyObject, names: NeutralNames): AnyObject {
  const { labels, annotations } = metadata;
  const body = Object.entries(asJson(object)).filter(([field]) => field !== "status");
  const plain: JsonObject = {
    ...Object.fromEntries(body.map(([field, value]) => [field, neutralJson(value, names)])),
    metadata: omitUndefined({
      name: names.of(metadata.name),
      namespace: "",
      labels: labels && neutralJson(labels, names, true),
      annotations,
    }),
  };
  return plain as unknown as AnyObject;
}

function neutralMachine(machine: TargetMachine, names: NeutralNames): TargetMachine {
  const { name, spec, owner, controlPlane, host } = machine;
  return omitUndefined({
    name: names.machines.get(name) ?? name,
    spec: neutralJson(spec, names) as unknown as TargetMachine["spec"],
    owner: owner && {
      ...neutralOwner(owner, names),
      ordinal: names.places.get(name) ?? owner.ordinal,
    },
    controlPlane,
    host: names.keys.get(host) ?? host,
  });
}

/** A MachineSet of a MachineDeployment is named by the digest of its template. */
function neutralOwner(
  { machineSet, machineDeployment, ordinal }: NonNullable<TargetMachine["owner"]>,
  { of }: NeutralNames,
): NonNullable<TargetMachine["owner"]> {
  if (machineDeployment === undefined) return { machineSet: of(machineSet), ordinal };
  const deployment = of(machineDeployment);
  return { machineSet: `${deployment}-*`, machineDeployment: deployment, ordinal };
}

function neutralNode(node: GraphNode, names: NeutralNames): GraphNode {
  const key = names.keys.get(keyOf(node)) ?? keyOf(node);
  const { parent } = node;
  return omitUndefined({
    ...node,
    name: key.slice(node.kind.length + 1),
    parent: parent === undefined ? undefined : (names.keys.get(parent) ?? parent),
    spec: neutralJson(node.spec, names) as JsonObject,
    dependsOn: node.dependsOn.map((one) => names.keys.get(one) ?? one).sort(),
  });
}

/** What is below these carries names of clusters for order's sake. */
const labelled = new Set(["labels", "matchLabels", "selector", "tags"]);
/** Written by Capstan itself. */
const written = new Set(["providerID"]);

function neutralJson(value: Json, names: NeutralNames, isLabel = false): Json {
  if (isRef(value)) return { ...value, $ref: names.keys.get(value.$ref) ?? value.$ref };
  if (typeof value === "string") return isLabel ? names.of(value) : value;
  if (Array.isArray(value)) return value.map((one: Json) => neutralJson(one, names, isLabel));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !written.has(name))
      .map(([name, member]) => [name, neutralJson(member, names, isLabel || labelled.has(name))]),
  );
}

function withoutAddresses(items: readonly ItemDifference[]): ItemDifference[] {
  return items.flatMap((item): ItemDifference[] => {
    if (item.kind !== "changed") return [item];
    const changes = item.changes.filter((change) => !isOfAddresses(change));
    return changes.length === 0 ? [] : [{ ...item, changes }];
  });
}

function isOfAddresses(change: ValueDifference): boolean {
  if (change.kind === "withheld") return false;
  return isAddress(change.from) && isAddress(change.to);
}

/** An address, a range, or a list of them. */
function isAddress(value: Json | undefined): boolean {
  if (Array.isArray(value)) return value.every((one: Json) => isAddress(one));
  if (typeof value !== "string") return false;
  const [address = "", ...prefix] = value.split("/");
  if (prefix.length > 1 || prefix.some((length) => !/^\d{1,3}$/.test(length))) return false;
  return ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address);
}
