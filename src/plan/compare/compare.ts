import { asJson, isJsonObject, type Json, type JsonObject, sameJson } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { AnyObject } from "../../api/types.js";
import { type GraphNode, isRef, keyOf } from "../../graph/graph.js";
import { inNameOrder } from "../../sets/name-order.js";
import { machineKey, type Target, type TargetMachine } from "../../records/target.js";

/** One value that is not the same on both sides. A side that lacks it leaves it out. */
export type ValueDifference =
  | {
      readonly kind: "value";
      /** "spec.replicas", "metadata.labels["example.com/team"]", "spec.taints[0].effect". */
      readonly path: string;
      readonly from?: Json;
      readonly to?: Json;
    }
  /** That it differs may be told, its values may not. */
  | {
      readonly kind: "withheld";
      readonly path: string;
      readonly what: "added" | "removed" | "changed";
    };

/** One thing that is not the same on both sides, by the name that users know it by. */
export type ItemDifference =
  | { readonly kind: "added" | "removed"; readonly item: string }
  | {
      readonly kind: "changed";
      readonly item: string;
      readonly changes: readonly ValueDifference[];
    };

/** What leads from one target to another. Each list in name order. */
export interface TargetDifference {
  /** "MachineDeployment default/workers". */
  readonly objects: readonly ItemDifference[];
  /** "Machine cp-0"; the changes are of its host's spec, as a plan shows them. */
  readonly machines: readonly ItemDifference[];
  /** "LocalNetwork network": what the machines share. */
  readonly infrastructure: readonly ItemDifference[];
}

/**
 * Holds two targets against each other. Only what they hold is looked at: references, also those to
 * secrets, stay references. Empty only if objects, machines and the specs of all resources are the
 * same. Pure.
 */
export function compareTargets(from: Target, to: Target): TargetDifference {
  return compareItems(itemsOf(from), itemsOf(to));
}

/** Everything in a target, by the name that it is compared under and in the target's order. */
export interface TargetItems {
  readonly objects: ReadonlyMap<string, Item>;
  readonly machines: ReadonlyMap<string, Item>;
  readonly infrastructure: ReadonlyMap<string, Item>;
}

/** What the target holds. Pure. */
export function itemsOf(target: Target, nameOf = objectName): TargetItems {
  return {
    objects: objectsOf(target, nameOf),
    machines: machinesOf(target),
    infrastructure: infrastructureOf(target),
  };
}

/** Holds what has the same name on both sides against each other. Pure. */
export function compareItems(from: TargetItems, to: TargetItems): TargetDifference {
  return {
    objects: itemDifferences(from.objects, to.objects),
    machines: itemDifferences(from.machines, to.machines),
    infrastructure: itemDifferences(from.infrastructure, to.infrastructure),
  };
}

export function isSame({ objects, machines, infrastructure }: TargetDifference): boolean {
  return objects.length + machines.length + infrastructure.length === 0;
}

/** What people compare, and the whole of it: a difference anywhere must not go unseen. */
interface Item {
  readonly shown: JsonObject;
  readonly whole: JsonObject;
  /** Names of fields that are secret where they stand: in a spec, or in the object of a provider. */
  readonly secret: readonly string[];
}

function itemDifferences(
  from: ReadonlyMap<string, Item>,
  to: ReadonlyMap<string, Item>,
): ItemDifference[] {
  const items = [...new Set([...from.keys(), ...to.keys()])].sort(inNameOrder);
  return items.flatMap((item): ItemDifference[] => {
    const [left, right] = [from.get(item), to.get(item)];
    if (left === undefined) return [{ kind: "added", item }];
    if (right === undefined) return [{ kind: "removed", item }];
    const isSecret = secretPlaces([...left.secret, ...right.secret]);
    const shown = valueDifferences(left.shown, right.shown, { isSecret });
    const changes =
      shown.length > 0 ? shown : valueDifferences(left.whole, right.whole, { isSecret });
    return changes.length === 0 ? [] : [{ kind: "changed", item, changes }];
  });
}

type Path = readonly (string | number)[];

/** The first member of a spec, or one of a provider's object: "password", "spec.providerSpec.value.password". */
function secretPlaces(secret: readonly string[]): (path: Path) => boolean {
  if (secret.length === 0) return () => false;
  return (path) => {
    const field = path.at(-1);
    if (typeof field !== "string" || !secret.includes(field)) return false;
    const [parent, owner] = [path.at(-2), path.at(-3)];
    return (
      path.length === 1 ||
      (path.length === 2 && parent === "spec") ||
      (parent === "value" && owner === "providerSpec")
    );
  };
}

function objectsOf(
  { objects, secretFields: secret = [] }: Target,
  nameOf: typeof objectName,
): Map<string, Item> {
  return new Map(
    objects.map((object) => {
      const whole = asJson(object);
      return [nameOf(object), { shown: whole, whole, secret }];
    }),
  );
}

function objectName({ kind, metadata }: AnyObject): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}

function machinesOf({ machines, nodes, secretFields = [] }: Target): Map<string, Item> {
  const specs = new Map(nodes.map((node) => [keyOf(node), node]));
  return new Map(
    machines.map((machine) => {
      const { name, host, owner } = machine;
      const { spec, secret } = specs.get(host) ?? { spec: {} };
      const shown =
        owner === undefined ? { ...spec, host } : { ...spec, owner: asJson(owner), host };
      const marked = [...secretFields, ...(secret?.inputs ?? [])];
      return [`Machine ${name}`, { shown, whole: asJson(machine), secret: marked }];
    }),
  );
}

/** Every resource that is not a machine's own. */
function infrastructureOf({ machines, nodes }: Target): Map<string, Item> {
  const ofMachines = new Set(
    machines.flatMap(({ name, host }: TargetMachine) => [host, machineKey(name)]),
  );
  return new Map(
    nodes
      .filter((node) => !ofMachines.has(keyOf(node)))
      .map((node: GraphNode) => [
        `${node.kind} ${node.name}`,
        { shown: node.spec, whole: asJson(node), secret: node.secret?.inputs ?? [] },
      ]),
  );
}

/**
 * Every value that is not the same, with its path, in the order of the paths' parts. Objects are gone
 * into, and lists of objects by position; a list of plain values is one value. Values of annotations
 * are withheld: people keep in them what no plan shows. A secret is withheld as a whole. Pure.
 */
export function valueDifferences(
  from: Json | undefined,
  to: Json | undefined,
  { path = [], isSecret = () => false }: { path?: Path; isSecret?: (path: Path) => boolean } = {},
): ValueDifference[] {
  if (isSameValue(from, to)) return [];
  if (isSecret(path)) return [withheldAt(path, from, to)];
  const [left, right] = [membersOf(from), membersOf(to)];
  if (left === undefined && right === undefined) return [differenceAt(path, from, to)];
  const names = [...new Set([...(left?.keys() ?? []), ...(right?.keys() ?? [])])];
  return [
    ...(left === undefined && isWorthTelling(from) ? [differenceAt(path, from, undefined)] : []),
    ...(right === undefined && isWorthTelling(to) ? [differenceAt(path, undefined, to)] : []),
    ...names
      .sort(inPathOrder)
      .flatMap((name) =>
        valueDifferences(left?.get(name), right?.get(name), { path: [...path, name], isSecret }),
      ),
  ];
}

/** An absent value is not a null. */
function isSameValue(from: Json | undefined, to: Json | undefined): boolean {
  return (from === undefined) === (to === undefined) && sameJson(from, to);
}

/** What a value consists of; undefined for one that is compared as a whole. */
function membersOf(value: Json | undefined): Map<string | number, Json> | undefined {
  if (Array.isArray(value)) {
    const list: readonly Json[] = value;
    const isPlain = list.every((item) => typeof item !== "object" || item === null);
    return isPlain ? undefined : new Map(list.entries());
  }
  if (!isJsonObject(value) || isRef(value) || Object.keys(value).length === 0) return undefined;
  return new Map(Object.entries(value));
}

/** Where something is put into an empty object or list, what is put there says it all. */
function isWorthTelling(value: Json | undefined): boolean {
  return value !== undefined && !(typeof value === "object" && isEmpty(value));
}

function isEmpty(value: Json): boolean {
  return value !== null && Object.keys(value).length === 0;
}

function inPathOrder(left: string | number, right: string | number): number {
  return inNameOrder(String(left), String(right));
}

const withheld: ReadonlySet<string | number> = new Set(["annotations", "nodeAnnotations"]);

function differenceAt(path: Path, from: Json | undefined, to: Json | undefined): ValueDifference {
  if (path.some((part) => withheld.has(part))) return withheldAt(path, from, to);
  return omitUndefined({ kind: "value", path: pathText(path), from, to });
}

function withheldAt(path: Path, from: Json | undefined, to: Json | undefined): ValueDifference {
  const what = from === undefined ? "added" : to === undefined ? "removed" : "changed";
  return { kind: "withheld", path: pathText(path), what };
}

function pathText(path: Path): string {
  return path
    .map((part, index) => {
      if (typeof part === "number") return `[${part}]`;
      if (!/^[\w-]+$/.test(part)) return `[${JSON.stringify(part)}]`;
      return index === 0 ? part : `.${part}`;
    })
    .join("");
}
