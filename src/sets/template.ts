import { canonicalJson, isJsonObject } from "../api/json.js";
import { oldestFirst } from "./counts.js";
import type { Profile } from "../api/set-profile.js";

/** Tells the machines of a deployment's sets apart; no part of what a template asks for. */
export const templateHashLabel = "machine-template-hash";

/** The template of a set or a deployment, as far as equality goes: any JSON. */
export interface ComparableTemplate {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
}

/** A MachineSet with its template. */
export interface TemplatedSet {
  readonly name: string;
  readonly uid: string;
  readonly createdAtMs?: number;
  readonly replicas: number;
  readonly template: ComparableTemplate;
}

/**
 * Whether two templates ask for the same machines: everything counts except the hash label; what is
 * absent equals what is empty, but not inside a provider's object, where only the provider knows
 * what an empty field means. Symmetric and pure. Source: docs/cluster-api.md#rollouts.
 */
export function sameTemplate(former: ComparableTemplate, latter: ComparableTemplate): boolean {
  return canonicalJson(comparable(former)) === canonicalJson(comparable(latter));
}

function comparable(template: ComparableTemplate): unknown {
  const { [templateHashLabel]: _hash, ...labels } = template.metadata?.labels ?? {};
  return withoutEmpty({ ...template, metadata: { ...template.metadata, labels } });
}

function withoutEmpty(value: unknown, key?: string): unknown {
  if (key === "providerSpec" || !isJsonObject(value)) return value;
  const members = Object.entries(value)
    .map(([name, member]) => [name, withoutEmpty(member, name)] as const)
    .filter(([, member]) => !isEmpty(member));
  return Object.fromEntries(members);
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

/**
 * The set that has the deployment's template. Of several, v1alpha1 takes the oldest, today's Cluster
 * API the one with most replicas; then age, then name decide. Pure.
 */
export function findNewSet<S extends TemplatedSet>(
  template: ComparableTemplate,
  sets: readonly S[],
  profile: Profile,
): S | undefined {
  const same = oldestFirst(sets.filter((set) => sameTemplate(set.template, template)));
  if (profile === "v1alpha1") return same[0];
  return same.reduce<S | undefined>(
    (most, set) => (most === undefined || set.replicas > most.replicas ? set : most),
    undefined,
  );
}

/** Every other set, oldest first. Pure. */
export function findOldSets<S extends TemplatedSet>(
  template: ComparableTemplate,
  sets: readonly S[],
  profile: Profile,
): S[] {
  const newSet = findNewSet(template, sets, profile);
  return oldestFirst(sets.filter(({ uid }) => uid !== newSet?.uid));
}
