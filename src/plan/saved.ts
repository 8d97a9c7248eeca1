import { keyedDigestOf } from "../api/digest.js";
import { canonicalJson, isJsonObject, type Json } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { type Removal, removals } from "../api/protection.js";
import type { CloudIdentity, Lookups, Observed } from "../provider/port.js";
import type { Plan } from "./plan.js";
import type { ObservedResources } from "./observation.js";
import { cloudResources, type PriorState } from "../records/prior-state.js";

/** Of a saved plan's file. A file of another format is refused. */
export const savedPlanFormat = 1;

/**
 * What a plan was made from, so that it can be told whether that is still so. Digests only: a file that
 * lies beside a pull request must give nothing away, so they are keyed with what only the state holds, or its passphrase gives.
 */
export interface Binding {
  readonly stack: string;
  readonly cluster: string;
  readonly transaction: number;
  readonly target: string;
  /** By "<Kind> <namespace>/<name>". */
  readonly objects: Readonly<Record<string, string>>;
  /** By node key. */
  readonly state: Readonly<Record<string, string>>;
  /** By "<Kind>/<name> (<id>)". */
  readonly inventory: Readonly<Record<string, string>>;
  /** "<kind> <key>", in the plan's order. */
  readonly steps: readonly string[];
  /** What was looked up for it, in clear, as the plan shows it: nobody is asked again. Absent: nothing. */
  readonly lookups?: Lookups;
}

/** A file that `plan --out` writes and `up --plan` reads. */
export interface SavedPlan {
  readonly format: typeof savedPlanFormat;
  /** The release that made it: another one may plan otherwise. */
  readonly release: string;
  /** As they were given, so relative to the folder where the plan was made. */
  readonly files: readonly string[];
  readonly clusters: readonly Binding[];
  /** Brings back, with the state's passphrase, what keys the digests of clusters that were not there yet; absent: all were there. */
  readonly salt?: string;
  /** What --prune was to destroy: stack, UID and transaction of each cluster. */
  readonly prune: readonly string[];
  /** What clusters may lose with it; absent: nothing beyond what their annotations say. */
  readonly allowRemoval?: readonly Removal[];
  /** What was looked up before counts no more, beside the answers that are saved. */
  readonly refreshLookups?: boolean;
  /** What was put into the manifests, without the values, which are in the digests alone; absent: nothing. */
  readonly overrides?: readonly string[];
}

/** Whether a file's content has the shape of a saved plan of this format, of whichever release. Pure. */
export function isSavedPlan(value: unknown): value is SavedPlan {
  if (!isJsonObject(value) || value["format"] !== savedPlanFormat) return false;
  const { release, files, clusters, prune, salt = "", allowRemoval = [], overrides = [] } = value;
  return (
    isListOf(overrides, isText) &&
    isListOf(allowRemoval, (one) => removals.some((removal) => removal === one)) &&
    isText(release) &&
    isText(salt) &&
    isListOf(files, isText) &&
    isListOf(prune, isText) &&
    isListOf(clusters, isBinding)
  );
}

function isBinding(value: Json): boolean {
  if (!isJsonObject(value)) return false;
  const { stack, cluster, transaction, target, steps, lookups = {} } = value;
  const digests = [value["objects"], value["state"], value["inventory"]];
  return (
    [stack, cluster, target].every(isText) &&
    typeof transaction === "number" &&
    isListOf(steps, isText) &&
    isJsonObject(lookups) &&
    Object.values(lookups).every(isJsonObject) &&
    digests.every((one) => isJsonObject(one) && Object.values(one).every(isText))
  );
}

function isListOf(value: Json | undefined, fits: (item: Json) => boolean): boolean {
  return Array.isArray(value) && value.every((item: Json) => fits(item));
}

function isText(value: Json | undefined): boolean {
  return typeof value === "string";
}

interface BindingInput {
  readonly plan: Plan;
  readonly state: PriorState;
  readonly observation: {
    readonly observedResources: ObservedResources;
    readonly unrecorded: readonly Observed[];
    readonly copies?: readonly Observed[];
  };
}

/** What keys the digests of a cluster; undefined before it is begun. Pure. */
export function digestKeyOf({ transaction }: Pick<PriorState, "transaction">): string | undefined {
  return transaction?.digestKey === "" ? undefined : transaction?.digestKey;
}

/** `newKey` keys the digests of a cluster whose state holds no key. Pure. */
export function bindingOf({ plan, state, observation }: BindingInput, newKey: string): Binding {
  const { observedResources, unrecorded, copies = [] } = observation;
  const key = digestKeyOf(state) ?? newKey;
  const digest = (value: unknown) => keyedDigestOf(key, value, 32);
  return omitUndefined({
    stack: plan.stack,
    cluster: plan.cluster,
    transaction: plan.transaction.number,
    target: digest(plan.target),
    objects: Object.fromEntries(
      plan.target.objects.map((object) => [
        `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`,
        digest(object),
      ]),
    ),
    state: Object.fromEntries(
      state.resources.map(({ key, urn, id, inputs, outputs, dependsOn, ...rest }) => {
        const { unfinished, deleting } = rest;
        const facts: unknown[] = [urn, id ?? "", inputs, outputs, [...dependsOn].sort()];
        return [key, digest([...facts, unfinished, deleting])];
      }),
    ),
    inventory: Object.fromEntries([
      ...(isTold(plan.transaction.cloud)
        ? [[theCloud, digest(plan.transaction.cloud)] as const]
        : []),
      ...cloudResources(state).map(({ key, id }): [string, string] => {
        const seen = observedResources.get(key);
        const facts = seen === undefined || seen === "gone" ? "gone" : [seen.spec, seen.who];
        return [`${key} (${id ?? ""})`, digest(facts)];
      }),
      ...[...unrecorded, ...copies]
        .filter(({ phase }) => phase !== "gone")
        .map(({ id, who, spec }): [string, string] => [
          `${who.kind}/${who.name} (${id})`,
          digest([spec, who]),
        ]),
    ]),
    steps: plan.steps.map(({ kind, key }) => `${kind} ${key}`),
    lookups: plan.target.lookups,
  });
}

/** What is no longer as it was when the plan was saved, a line each; empty: nothing moved. Pure. */
export function whatMoved(saved: Binding, now: Binding): string[] {
  const isNew = (binding: Binding) => Object.keys(binding.state).length === 0;
  if (isNew(saved) !== isNew(now)) {
    const what = isNew(now)
      ? "is not recorded in this state: it was destroyed since, or the plan was made with another state"
      : "was created";
    return [`Cluster ${now.cluster} ${what}`];
  }
  const moved = [
    ...differences("object", saved.objects, now.objects),
    ...differences("the state of", saved.state, now.state),
    ...differences("in the cloud,", saved.inventory, comparable(saved.inventory, now.inventory)),
  ];
  if (moved.length > 0) return moved;
  return saved.target === now.target && canonicalJson(saved.steps) === canonicalJson(now.steps)
    ? []
    : [`what is planned for ${now.cluster}`];
}

const theCloud = "the cloud itself";

function isTold(cloud: CloudIdentity | undefined): cloud is CloudIdentity {
  return cloud !== undefined && Object.keys(cloud).length > 0;
}

/** A cloud that could not be told when the plan was saved may be any: the simulated one is made by its first change. */
function comparable(saved: Binding["inventory"], now: Binding["inventory"]): Binding["inventory"] {
  const { [theCloud]: _any, ...resources } = now;
  return saved[theCloud] === undefined ? resources : now;
}

function differences(what: string, saved: Binding["state"], now: Binding["state"]): string[] {
  const keys = [...new Set([...Object.keys(saved), ...Object.keys(now)])].sort();
  return keys
    .filter((key) => saved[key] !== now[key])
    .map((key) => {
      const how =
        saved[key] === undefined ? "is new" : now[key] === undefined ? "is gone" : "has changed";
      return `${what} ${key} ${how}`;
    });
}
