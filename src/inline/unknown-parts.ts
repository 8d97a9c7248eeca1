import { asJson, isJsonObject, type Json, type JsonObject } from "../api/json.js";
import type { AnyObject, Desired } from "../api/types.js";
import { holdsUnknown, unknownValue } from "../api/unknown.js";
import { compileParts } from "../compile/compile.js";
import { informed } from "../compile/lookups.js";
import { keyOf, type NodeKey } from "../graph/graph.js";
import { isGenerationOf } from "../plan/decisions/infrastructure.js";
import { withExternals } from "../plan/goal/externals.js";
import type { Plan } from "../plan/plan.js";
import type { InfrastructureProvider } from "../provider/port.js";
import { owningObjects } from "../sets/owning-objects.js";
import type { PassProgram } from "../transaction/registration.js";

// What a preview makes of values that nobody knows yet. Pure.

/**
 * A cluster with what is recorded of it in the place of unknown values: what is not known to change is planned as if it
 * stayed, and no replacement is announced that may never be. What is not recorded stays unknown.
 */
export function withRecordedValues(desired: Desired, recorded: readonly AnyObject[]): Desired {
  const fill = <O extends AnyObject>(object: O): O => {
    const before = recorded.find(
      ({ kind, metadata }) =>
        kind === object.kind &&
        metadata.name === object.metadata.name &&
        metadata.namespace === object.metadata.namespace,
    );
    return filled(asJson(object), before && asJson(before)) as unknown as O;
  };
  const { cluster, machines, machineSets, machineDeployments, drainRules, healthChecks } = desired;
  return {
    cluster: fill(cluster),
    machines: machines.map(fill),
    machineSets: machineSets.map(fill),
    machineDeployments: machineDeployments.map(fill),
    drainRules: drainRules.map(fill),
    healthChecks: healthChecks.map(fill),
  };
}

function filled(value: Json, recorded: Json | undefined): Json {
  if (recorded === undefined || !holdsUnknown(value)) return value;
  if (value === unknownValue) return holdsUnknown(recorded) ? value : recorded;
  if (Array.isArray(value)) {
    const items: readonly Json[] = value;
    if (!Array.isArray(recorded)) return [...items];
    const before: readonly Json[] = recorded;
    // A list that is unknown as a whole, however many items it will have.
    if (items.length === 1 && items[0] === unknownValue) return [...before];
    return items.map((item, index) => filled(item, before[index]));
  }
  if (!isJsonObject(value) || !isJsonObject(recorded)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, filled(member, recorded[name])]),
  );
}

/**
 * A pass in which the fields that depend on unknown values are unknown: the program as it was planned otherwise.
 * `desired` still holds the unknown values.
 */
export function withUnknownFields(
  program: PassProgram,
  plan: Plan,
  desired: Desired,
  given: InfrastructureProvider,
): PassProgram {
  const fields = unknownFields(plan, desired, given);
  const registrations = program.registrations.map((one) => {
    const unknown = fields.get(one.key);
    const { spec } = one.inputs;
    if (unknown === undefined || !isJsonObject(spec)) return one;
    return { ...one, inputs: { ...one.inputs, spec: { ...spec, ...unknown } } };
  });
  return { ...program, registrations };
}

/** Told by compiling the planned machines with what their objects say now. */
function unknownFields(
  { target }: Plan,
  desired: Desired,
  given: InfrastructureProvider,
): ReadonlyMap<NodeKey, JsonObject> {
  const provider = informed(given, target.lookups);
  const { cluster, machines, machineSets, machineDeployments } = desired;
  const ownerOf = owningObjects([...machines, ...machineSets, ...machineDeployments]);
  const asWritten = target.machines.map((machine) => {
    const owner = ownerOf(machine);
    if (owner === undefined) return machine;
    const { providerSpec } = owner.kind === "Machine" ? owner.spec : owner.spec.template.spec;
    return { ...machine, spec: { ...machine.spec, providerSpec } };
  });
  const compiled = compileParts(provider, cluster, asWritten);
  const { hosts, infrastructure } = withExternals(compiled, { pinned: [] });
  const found = new Map<NodeKey, JsonObject>();
  const keep = (key: NodeKey, spec: JsonObject) => {
    const unknown = Object.entries(spec).filter(([, value]) => holdsUnknown(value));
    if (unknown.length > 0) found.set(key, Object.fromEntries(unknown));
  };
  for (const { name, host } of target.machines) keep(host, hosts.get(name) ?? {});
  for (const node of infrastructure) {
    const planned = target.nodes.find((one) => isGenerationOf(node, one));
    if (planned !== undefined) keep(keyOf(planned), node.spec);
  }
  return found;
}
