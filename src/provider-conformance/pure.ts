import { sameJson, type JsonObject } from "../api/json.js";
import { providerValue } from "../api/types.js";
import { unknownValue } from "../api/unknown.js";
import { dependenciesOf, inDependencyOrder, keyOf, refsIn } from "../graph/graph.js";
import { readDesired } from "../manifest/desired.js";
import type { Rig } from "./rig.js";
import { machinesOf, type MachineSpecs } from "./sample.js";
import type { CompiledParts } from "../provider/port.js";
import { type ConformanceSubject, must, type Sample } from "./subject.js";

/** "judges changes purely, and the same each time" */
export async function verdictIsPure(
  rig: Rig,
  { inPlace, replacing }: ConformanceSubject,
): Promise<void> {
  const { provider } = rig;
  const kind = provider.hostKind;
  const spec = hostSpecOf(rig, {});
  const others = [replacing, ...(inPlace === undefined ? [] : [inPlace])];
  for (const wanted of [spec, ...others.map((fields) => hostSpecOf(rig, fields))]) {
    const judge = () => provider.verdict(kind, frozen(spec), frozen(wanted));
    const verdict = judge();
    must(sameJson(verdict, judge()), "judge the same change the same way", JSON.stringify(verdict));
    if (wanted === spec)
      must(verdict.kind === "same", "call a spec the same as itself", verdict.kind);
    else must(verdict.kind !== "same", "see that its specs differ", JSON.stringify(wanted));
  }
  for (const field of Object.keys(spec)) {
    const verdict = provider.verdict(kind, spec, { ...spec, [field]: unknownValue });
    must(
      verdict.kind !== "same",
      "never take a value that is not known yet for the same",
      `${field} is unknown, and the verdict is same`,
    );
  }
}

/** "names generations by what cannot change in place" */
export async function generationIsStable(rig: Rig, { inPlace }: ConformanceSubject): Promise<void> {
  const { provider } = rig;
  const inputsOf = (fields: JsonObject) =>
    provider.generationInputs(provider.hostKind, frozen(hostSpecOf(rig, fields)));
  const inputs = inputsOf({});
  must(sameJson(inputs, inputsOf({})), "give the same generationInputs each time", "they differ");
  if (inPlace === undefined) return;
  const changed = inputsOf(inPlace);
  must(
    sameJson(inputs, changed),
    "leave out of generationInputs what changes in place",
    `${JSON.stringify(inputs)} became ${JSON.stringify(changed)}`,
  );
}

/** "compiles purely, each machine for itself" */
export async function compileIsPure(rig: Rig): Promise<void> {
  const specs = { web: {}, db: {} };
  const parts = compiled(rig, specs);
  const again = compiled(rig, specs);
  const { infrastructure, hosts } = parts;
  must(
    sameJson(infrastructure, again.infrastructure) && sameJson([...hosts], [...again.hosts]),
    "compile the same objects to the same resources",
    "two compilations differ",
  );
  // Where a machine is placed depends on the others: each is compiled alone as it was placed among them.
  const desired = rig.desired(specs);
  for (const machine of machinesOf(rig.provider, desired)) {
    const { name } = machine;
    must(hosts.has(name), "compile a host for each machine", `there is none for ${name}`);
    const value = providerValue(desired.cluster.spec);
    const parts = rig.provider.compile(frozen(desired.cluster), value, [frozen(machine)], {});
    const alone = parts.hosts.get(name);
    must(
      sameJson(alone, hosts.get(name)),
      "compile a machine's host from that machine alone",
      `${name} is ${JSON.stringify(alone)} alone and ${JSON.stringify(hosts.get(name))} with others`,
    );
  }
  const nodes = new Set(inDependencyOrder(infrastructure).map(keyOf));
  const needed = [
    ...infrastructure.flatMap(dependenciesOf),
    ...[...hosts.values()].flatMap((spec) => refsIn(spec).map(({ $ref }) => $ref)),
  ];
  const missing = needed.filter((key) => !nodes.has(key));
  must(missing.length === 0, "refer to resources that it compiles", missing.join(", "));
  const unserved = infrastructure.filter(({ kind }) => !rig.provider.handlers.has(kind));
  must(unserved.length === 0, "serve every kind that it compiles", unserved.map(keyOf).join(", "));
}

/** "refuses fields that it does not know" */
export async function schemasAreClosed(rig: Rig): Promise<void> {
  rig.desired({ web: {} });
  const slip = { noSuchField: true };
  for (const manifest of [rig.manifest({ web: slip }), rig.manifest({ web: {} }, slip)]) {
    const { diagnostics } = readDesired([manifest], [rig.provider]);
    must(
      diagnostics.some(({ severity }) => severity === "error"),
      "refuse a field that its schema does not have (additionalProperties: false)",
      "noSuchField is accepted",
    );
  }
}

function hostSpecOf(rig: Rig, fields: JsonObject): JsonObject {
  return compiled(rig, { web: fields }).hosts.get("web") ?? {};
}

/** What machines of the sample compile to. */
export function compiled(rig: Rig, specs: MachineSpecs, sample?: Sample): CompiledParts {
  const { provider } = rig;
  const desired = frozen(rig.desired(specs, sample));
  const { cluster } = desired;
  const machines = frozen(machinesOf(provider, desired));
  return provider.compile(cluster, providerValue(cluster.spec), machines, {});
}

/** The value, so that whoever changes it fails. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  Object.values(value).forEach(frozen);
  return value;
}
