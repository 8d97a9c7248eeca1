import { CapstanError } from "../api/error.js";
import type { JsonObject } from "../api/json.js";
import type { IgnorableField, ProviderSpecs } from "../api/provider-specs.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { userDataFields } from "../api/user-data-fields.js";
import type { GraphNode } from "../graph/graph.js";
import { withReplaced } from "../manifest/object-parts.js";
import type { KindDefinition, MachineCalls, ProviderDefinition, SharedPart } from "./definition.js";
import { definitionProblems } from "./definition-problems.js";
import {
  type FieldChange,
  type FieldRule,
  type FieldRules,
  immutableFields,
  verdictByField,
} from "./fields.js";
import { hostSpecOf, memberOfHostField, userDataRules } from "./host-spec.js";
import { olderVersionsOf } from "./older-versions.js";
import { refTo } from "../graph/graph.js";
import type {
  CallContext,
  CompiledParts,
  InfrastructureProvider,
  InventoryScope,
  MachineToCompile,
  Observed,
} from "./port.js";
import { specSchema } from "./spec-schema.js";

const suffix = "MachineProviderSpec";

/**
 * A provider from the calls of its cloud. Everything else has a working default: nothing that machines
 * share, a host spec with the fields of the providerSpec and what the node is to be, a
 * replacement for each difference that no rule covers, inventory and what is owned from `machine.list`.
 * Throws INVALID_INPUT, all problems at once.
 */
export function defineProvider(definition: ProviderDefinition): InfrastructureProvider {
  refuseWrong(definition);
  const { name, apiVersion, userData, apiEndpoint } = definition;
  const stem = stemOf(definition);
  const hostKind = definition.hostKind ?? `${stem}Host`;
  const clusterSpec = definition.clusterSpec ?? { kind: `${stem}ClusterProviderSpec`, schema: {} };
  const ownFields = userData === undefined ? {} : userDataFields;
  const schema = specSchema(apiVersion, definition.machineSpec, ownFields);
  const ignores = ignoredBy(definition);
  const machineSpec = { ...definition.machineSpec, schema, ignores };
  const kinds = kindsOf(definition, hostKind);
  const rulesOf = (kind: string): FieldRules => kinds.get(kind)?.rules ?? {};
  const all = [...kinds.values()].map(({ calls }) => calls);
  const owned = async (ctx: CallContext) =>
    (await Promise.all(all.map((calls) => wholeOf(calls.list(ctx))))).flat();
  const inScope = async (ctx: CallContext, scope: InventoryScope) =>
    (await Promise.all(all.map((calls) => wholeOf(calls.list(ctx, scope))))).flat();
  return omitUndefined({
    name,
    apiVersion,
    hostKind,
    timing: definition.timing,
    calls: definition.calls,
    userData,
    keyInputs: keyInputsOf(kinds),
    clusterSpec: { ...clusterSpec, schema: specSchema(apiVersion, clusterSpec) },
    machineSpec,
    failureDomains: definition.failureDomains,
    olderVersions:
      definition.olderVersions &&
      olderVersionsOf({ ...definition, clusterSpec }, definition.olderVersions),
    handlers: new Map([...kinds].map(([kind, { calls }]) => [kind, calls])),
    compile: compilerOf(definition, hostKind, machineSpec),
    verdict: (kind, recorded, wanted) =>
      verdictByField(
        rulesOf(kind),
        kind === hostKind ? withoutIgnoredInputs(recorded, ignores) : recorded,
        wanted,
      ),
    alternatives: definition.alternatives,
    generationInputs: (kind, spec) => immutableFields(rulesOf(kind), spec),
    inventory: async (ctx, scope) =>
      (await inScope(ctx, scope)).filter((observed) => isInScope(observed, scope)),
    owned,
    ...questionsIn(definition),
    lookupInputs: definition.lookupInputs,
    identities: definition.identities,
    forCluster: definition.forCluster?.bind(definition),
    apiEndpoints: apiEndpoint && ((shared, spec) => [apiEndpoint(spec, shared) ?? []].flat()),
    close: definition.close === undefined ? undefined : () => definition.close?.(),
  });
}

/** Part of a listing is no listing (law 12), so its pages are waited for. */
async function wholeOf(listing: ReturnType<MachineCalls["list"]>): Promise<readonly Observed[]> {
  if (!(Symbol.asyncIterator in listing)) return listing;
  const listed: Observed[] = [];
  for await (const page of listing) listed.push(...page);
  return listed;
}

function stemOf({ machineSpec }: ProviderDefinition): string {
  return machineSpec.kind.replace(suffix, "");
}

/** Every kind that there is, that of hosts too, with the rules that count. */
function kindsOf(
  { machine, rules, keyInputs, userData, kinds = {} }: ProviderDefinition,
  hostKind: string,
): ReadonlyMap<string, KindDefinition> {
  const host: KindDefinition = omitUndefined({ calls: machine, rules, keyInputs });
  const ownRules = userData === undefined ? {} : userDataRules;
  return new Map(
    [...Object.entries(kinds), [hostKind, host] as const].map(([kind, one]) => {
      const own = kind === hostKind ? ownRules : {};
      const given = one.calls.update === undefined ? withoutInPlace(one.rules) : one.rules;
      return [kind, { ...one, rules: { ...own, ...given } }];
    }),
  );
}

function keyInputsOf(
  kinds: ReadonlyMap<string, KindDefinition>,
): Readonly<Record<string, readonly string[]>> | undefined {
  const named = [...kinds].flatMap(([kind, { keyInputs }]) =>
    keyInputs === undefined ? [] : [[kind, keyInputs] as const],
  );
  return named.length === 0 ? undefined : Object.fromEntries(named);
}

function compilerOf(
  definition: ProviderDefinition,
  hostKind: string,
  { schema, ignores }: ProviderSpecs["machineSpec"],
): InfrastructureProvider["compile"] {
  const specOf = definition.hostSpec ?? ((one: MachineToCompile) => hostSpecOf(one, schema));
  return ({ spec: { clusterNetwork } }, clusterValue, machines, lookedUp = {}) => ({
    infrastructure: (definition.infrastructure?.(clusterValue, clusterNetwork, lookedUp) ?? []).map(
      (part) => {
        const { kind, name } = part;
        if (definition.kinds?.[kind] === undefined) throw noSuchKind(definition.name, kind, name);
        return nodeOf(part);
      },
    ),
    hosts: new Map(
      machines.map((one) => {
        const heeded = withoutIgnored(one, ignores);
        return [one.name, specOf(heeded, clusterValue, clusterNetwork, lookedUp)];
      }),
    ),
    ...satellitesIn(definition, hostKind, clusterValue, machines),
  });
}

function nodeOf(part: SharedPart): GraphNode {
  const { kind, name } = part;
  if ("external" in part) {
    return { kind, name, type: "external", spec: { id: part.external }, dependsOn: [] };
  }
  const { spec, dependsOn = [] } = part;
  return { kind, name, type: "resource", spec, dependsOn };
}

function satellitesIn(
  { name: provider, kinds = {}, satellites }: ProviderDefinition,
  hostKind: string,
  clusterValue: JsonObject,
  machines: readonly MachineToCompile[],
): Pick<CompiledParts, "satellites"> {
  if (satellites === undefined) return {};
  const of = (machine: MachineToCompile) => {
    const host = (output?: string) => refTo(hostKind, machine.name, output);
    const all = satellites(machine, host, clusterValue);
    const unknown = all.find(({ kind }) => kinds[kind] === undefined);
    if (unknown !== undefined) throw noSuchKind(provider, unknown.kind, unknown.name);
    const stuck = all.find(
      ({ kind, whenHostGoes }) =>
        whenHostGoes === "keep" && kinds[kind]?.calls.disown === undefined,
    );
    if (stuck !== undefined) throw cannotKeep(provider, stuck.kind, stuck.name);
    return all;
  };
  return { satellites: new Map(machines.map((machine) => [machine.name, of(machine)])) };
}

/**
 * The shared fields that have no effect on a provider's hosts: those that it names, and `configSource` where user data makes
 * nodes of them, since no kubelet reads its configuration from a ConfigMap since Kubernetes 1.24. Pure.
 */
function ignoredBy({ machineSpec, userData }: ProviderDefinition): readonly IgnorableField[] {
  const { ignores = [] } = machineSpec;
  return userData === undefined ? ignores : [...new Set([...ignores, "configSource" as const])];
}

/** Records of earlier releases may hold inputs that have no effect any more: a host without them is the same. Pure. */
function withoutIgnoredInputs(
  recorded: JsonObject,
  ignores: readonly IgnorableField[],
): JsonObject {
  const isHeeded = (field: string) =>
    !ignores.some((one) => one === memberOfHostField(field).join("."));
  return Object.fromEntries(Object.entries(recorded).filter(([field]) => isHeeded(field)));
}

/** What has no effect on a provider must not make a host another one. */
function withoutIgnored(
  machine: MachineToCompile,
  ignored: readonly IgnorableField[] = [],
): MachineToCompile {
  const spec = ignored.reduce(
    (current, field) => withReplaced(current, field.split("."), () => undefined),
    machine.spec,
  );
  return { ...machine, spec };
}

/** The definition stays what its methods see as `this`. */
function questionsIn(
  definition: ProviderDefinition,
): Pick<
  InfrastructureProvider,
  "identity" | "preflight" | "resolve" | "leftovers" | "removeLeftover"
> {
  return omitUndefined({
    identity: definition.identity?.bind(definition),
    preflight: definition.preflight?.bind(definition),
    resolve: definition.resolve?.bind(definition),
    leftovers: definition.leftovers?.bind(definition),
    removeLeftover: definition.removeLeftover?.bind(definition),
  });
}

function isInScope({ who }: Observed, { cluster, clusterUid }: InventoryScope): boolean {
  return who.cluster === cluster && (clusterUid === undefined || who.clusterUid === clusterUid);
}

/** Without an update nothing can change in place, whatever the rules say. */
function withoutInPlace(rules: FieldRules = {}): FieldRules {
  const cannot = (change: FieldChange): FieldChange =>
    change.kind === "inPlace"
      ? { kind: "replace", reason: "this provider changes nothing in place" }
      : change;
  const entries = Object.entries(rules).map(([field, rule]): [string, FieldRule] => [
    field,
    typeof rule === "function" ? (from, to) => cannot(rule(from, to)) : cannot(rule),
  ]);
  return Object.fromEntries(entries);
}

function noSuchKind(provider: string, kind: string, name: string): CapstanError {
  return mistakeOf(provider, `it names ${kind} ${name}, and its kinds have no ${kind}`);
}

/** What is kept loses our marks: without a call that takes them off its host could never go. */
function cannotKeep(provider: string, kind: string, name: string): CapstanError {
  return mistakeOf(
    provider,
    `it keeps ${kind} ${name} when its host goes, and ${kind} has no disown`,
  );
}

/** A mistake of the provider's author, met while planning and not in the middle of a change. */
function mistakeOf(provider: string, what: string): CapstanError {
  return new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: `cannot plan with provider ${provider}: ${what}`,
    hint: "report it to the provider's author; nothing was changed",
  });
}

/** A provider may be plain JavaScript, so that no compiler has seen what is wrong with it. */
function refuseWrong(definition: Partial<ProviderDefinition>): void {
  const problems = definitionProblems(definition);
  if (problems.length === 0) return;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: `cannot define provider ${definition.name ?? "without a name"}: ${problems.join("; ")}`,
    hint: "docs/provider-options.md lists what defineProvider takes",
  });
}
