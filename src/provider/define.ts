import semver from "semver";
import { CapstanError } from "../api/error.js";
import {
  type IgnorableField,
  ignorableFields,
  isInRange,
  type MachineOffers,
} from "../api/provider-specs.js";
import type { JsonObject } from "../api/json.js";
import type { ClusterNetwork } from "../api/types.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { withReplaced } from "../manifest/object-parts.js";
import {
  type FieldChange,
  type FieldRule,
  type FieldRules,
  immutableFields,
  verdictByField,
} from "./fields.js";
import { hostSpecOf, nodeFields } from "./host-spec.js";
import {
  type OlderVersionDefinition,
  olderVersionProblems,
  olderVersionsOf,
} from "./older-versions.js";
import type {
  CallContext,
  CloudIdentity,
  InfrastructureProvider,
  InventoryScope,
  MachineToCompile,
  Observed,
  ResourceHandler,
  CloudTiming,
} from "./port.js";
import {
  fieldsOf,
  type ClusterSpecDefinition,
  type MachineSpecDefinition,
  specSchema,
} from "./spec-schema.js";

/** The calls of a cloud on its machines: those of a handler, and a listing. */
export interface MachineCalls extends ResourceHandler {
  /**
   * The machines in the scope, without one those of every cluster (`capstan sweep` asks for them);
   * gone ones included while the cloud shows them. It may answer more: what does not carry the
   * scope's marks is left out. A property, so that the compiler refuses a list that needs a scope.
   */
  readonly list: (ctx: CallContext, scope?: InventoryScope) => Promise<readonly Observed[]>;
}

/** A provider whose clusters need machines and nothing else. */
export interface ProviderDefinition {
  /** Unique among providers, e.g. "folder". */
  readonly name: string;
  /** apiVersion of its objects, e.g. "folder.example.dev/v1alpha1"; its group names the provider in manifests. */
  readonly apiVersion: string;
  /** Other versions that manifests and records may be written in, newest first. None without. */
  readonly olderVersions?: readonly OlderVersionDefinition[];
  /** providerSpec.value of Machines. */
  readonly machineSpec: MachineSpecDefinition;
  /** providerSpec.value of the Cluster. Without it: an object without fields, named like machineSpec. */
  readonly clusterSpec?: ClusterSpecDefinition;
  /** Kind of a machine's host in the graph. "FolderHost" for a "FolderMachineProviderSpec". */
  readonly hostKind?: string;
  /** Inputs of a host that plans show of each new one: what it costs and where it is. None without. */
  readonly keyInputs?: readonly string[];
  /** What changes in place, by field of the host's spec. Without it every change needs a new host. */
  readonly rules?: FieldRules;
  /**
   * Inputs of a machine's host, from the machine, the provider's object of its Cluster, and the Cluster's
   * networks. `hostSpecOf` without it. Pure; must not depend on other machines.
   */
  readonly hostSpec?: (
    machine: MachineToCompile,
    clusterSpec: JsonObject,
    clusterNetwork: ClusterNetwork,
  ) => JsonObject;
  readonly machine: MachineCalls;
  /** How fast the cloud is at its slowest. `defaultTiming` without. */
  readonly timing?: CloudTiming;
  /** Which cloud the credentials lead to. Without it a wrong cloud cannot be told from an empty one. */
  identity?(ctx: CallContext): Promise<CloudIdentity>;
  close?(): void;
}

const suffix = "MachineProviderSpec";

/**
 * A provider from the calls of its cloud. Everything else has a working default: no shared
 * infrastructure, a host spec with the fields of the providerSpec and what the node is to be, a
 * replacement for each difference that no rule covers, inventory and what is owned from `machine.list`.
 * Throws INVALID_INPUT, all problems at once.
 */
export function defineProvider(definition: ProviderDefinition): InfrastructureProvider {
  refuseIncomplete(definition);
  const { name, apiVersion, machine } = definition;
  const stem = definition.machineSpec.kind.replace(suffix, "");
  const hostKind = definition.hostKind ?? `${stem}Host`;
  const clusterSpec = definition.clusterSpec ?? { kind: `${stem}ClusterProviderSpec`, schema: {} };
  const schema = specSchema(apiVersion, definition.machineSpec);
  const rules = machine.update === undefined ? withoutInPlace(definition.rules) : definition.rules;
  const rulesOf = (kind: string): FieldRules => (kind === hostKind ? (rules ?? {}) : {});
  const specOf = definition.hostSpec ?? ((one: MachineToCompile) => hostSpecOf(one, schema));
  return omitUndefined({
    name,
    apiVersion,
    hostKind,
    timing: definition.timing,
    keyInputs: definition.keyInputs && { [hostKind]: definition.keyInputs },
    clusterSpec: { ...clusterSpec, schema: specSchema(apiVersion, clusterSpec) },
    machineSpec: { ...definition.machineSpec, schema },
    olderVersions:
      definition.olderVersions &&
      olderVersionsOf({ ...definition, clusterSpec }, definition.olderVersions),
    handlers: new Map([[hostKind, machine]]),
    compile: ({ spec: { clusterNetwork } }, clusterValue, machines) => ({
      infrastructure: [],
      hosts: new Map(
        machines.map((one) => {
          const heeded = withoutIgnored(one, definition.machineSpec.ignores);
          return [one.name, specOf(heeded, clusterValue, clusterNetwork)];
        }),
      ),
    }),
    verdict: (kind, recorded, wanted) => verdictByField(rulesOf(kind), recorded, wanted),
    generationInputs: (kind, spec) => immutableFields(rulesOf(kind), spec),
    inventory: async (ctx, scope) =>
      (await machine.list(ctx, scope)).filter((observed) => isInScope(observed, scope)),
    owned: (ctx) => machine.list(ctx),
    ...identityIn(definition),
    close: definition.close === undefined ? undefined : () => definition.close?.(),
  });
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
function identityIn(definition: ProviderDefinition): Pick<InfrastructureProvider, "identity"> {
  if (definition.identity === undefined) return {};
  return { identity: async (ctx) => (await definition.identity?.(ctx)) ?? {} };
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

/** A provider may be plain JavaScript, so that no compiler has seen what it left out. */
function refuseIncomplete(definition: Partial<ProviderDefinition>): void {
  const { name, apiVersion, machineSpec } = definition;
  const calls: Partial<MachineCalls> = definition.machine ?? {};
  const problems = [
    ...(/^[a-z][a-z0-9-]*$/.test(name ?? "") ? [] : ["name must be a lower-case word"]),
    ...(/^[^/\s]+\/[^/\s]+$/.test(apiVersion ?? "")
      ? []
      : ["apiVersion must be <group>/<version>"]),
    ...(isSpecDefinition(machineSpec) ? [] : ["machineSpec must have a kind and a schema"]),
    ...(["locate", "create", "remove", "list"] as const)
      .filter((call) => typeof calls[call] !== "function")
      .map((call) => `machine.${call} must be a function`),
    ...olderVersionProblems(apiVersion, definition.olderVersions),
    ...unreadableOffers(machineSpec?.offers).map((what) => `machineSpec.offers.${what}`),
    ...(machineSpec?.ignores ?? [])
      .filter((field) => !ignorableFields.includes(field))
      .map((field) => `machineSpec.ignores: ${field} is none of ${ignorableFields.join(", ")}`),
    ...takenFields(definition).map((field) => `machineSpec must call field ${field} otherwise`),
  ];
  if (problems.length === 0) return;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: `cannot define provider ${name ?? "without a name"}: ${problems.join("; ")}`,
    hint: "docs/providers.md lists what defineProvider takes",
  });
}

function unreadableOffers({ kubernetes, containerRuntimes = [] }: MachineOffers = {}): string[] {
  const isRange = (range: unknown) =>
    typeof range === "string" && semver.validRange(range) !== null;
  const isKubernetes = kubernetes === undefined || isRange(kubernetes);
  return [
    ...(isKubernetes ? [] : ["kubernetes must be a range of versions, e.g. 1.24 - 1.35"]),
    ...containerRuntimes
      .filter(
        ({ versions, recommended }) => !isRange(versions) || !isInRange(recommended, versions),
      )
      .map(
        ({ name }) =>
          `containerRuntimes: ${name} must have versions, a range, and recommended, one of them`,
      ),
  ];
}

/** Fields of a machineSpec that would clash in a host's spec with what the node is to be. */
function takenFields({ machineSpec, hostSpec }: Partial<ProviderDefinition>): string[] {
  if (hostSpec !== undefined || machineSpec === undefined || !isSpecDefinition(machineSpec))
    return [];
  return fieldsOf(machineSpec.schema).filter((field) => nodeFields.some((one) => one === field));
}

function isSpecDefinition(value: unknown): boolean {
  const { kind, schema } = (value ?? {}) as { kind?: unknown; schema?: unknown };
  return typeof kind === "string" && kind !== "" && typeof schema === "object" && schema !== null;
}
