import { CapstanError } from "../api/error.js";
import type { IgnorableField } from "../api/provider-specs.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { userDataFields } from "../api/user-data-fields.js";
import { withReplaced } from "../manifest/object-parts.js";
import type { ProviderDefinition } from "./definition.js";
import { definitionProblems } from "./definition-problems.js";
import {
  type FieldChange,
  type FieldRule,
  type FieldRules,
  immutableFields,
  verdictByField,
} from "./fields.js";
import { hostSpecOf, userDataRules } from "./host-spec.js";
import { olderVersionsOf } from "./older-versions.js";
import type { InfrastructureProvider, InventoryScope, MachineToCompile, Observed } from "./port.js";
import { specSchema } from "./spec-schema.js";

const suffix = "MachineProviderSpec";

/**
 * A provider from the calls of its cloud. Everything else has a working default: no shared
 * infrastructure, a host spec with the fields of the providerSpec and what the node is to be, a
 * replacement for each difference that no rule covers, inventory and what is owned from `machine.list`.
 * Throws INVALID_INPUT, all problems at once.
 */
export function defineProvider(definition: ProviderDefinition): InfrastructureProvider {
  refuseWrong(definition);
  const { name, apiVersion, machine, userData, apiEndpoint } = definition;
  const stem = definition.machineSpec.kind.replace(suffix, "");
  const hostKind = definition.hostKind ?? `${stem}Host`;
  const clusterSpec = definition.clusterSpec ?? { kind: `${stem}ClusterProviderSpec`, schema: {} };
  const ownFields = userData === undefined ? {} : userDataFields;
  const schema = specSchema(apiVersion, definition.machineSpec, ownFields);
  const rules = machine.update === undefined ? withoutInPlace(definition.rules) : definition.rules;
  const ownRules = userData === undefined ? {} : userDataRules;
  const hostRules = { ...ownRules, ...rules };
  const rulesOf = (kind: string): FieldRules => (kind === hostKind ? hostRules : {});
  const specOf = definition.hostSpec ?? ((one: MachineToCompile) => hostSpecOf(one, schema));
  return omitUndefined({
    name,
    apiVersion,
    hostKind,
    timing: definition.timing,
    userData,
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
    apiEndpoints: apiEndpoint && ((_none, spec) => [apiEndpoint(spec) ?? []].flat()),
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

/** A provider may be plain JavaScript, so that no compiler has seen what is wrong with it. */
function refuseWrong(definition: Partial<ProviderDefinition>): void {
  const problems = definitionProblems(definition);
  if (problems.length === 0) return;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: `cannot define provider ${definition.name ?? "without a name"}: ${problems.join("; ")}`,
    hint: "docs/providers.md lists what defineProvider takes",
  });
}
