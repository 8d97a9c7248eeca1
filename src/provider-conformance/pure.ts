import { sameJson, type JsonObject } from "../api/json.js";
import { unknownValue } from "../api/unknown.js";
import { dependenciesOf, inDependencyOrder, keyOf, refsIn } from "../graph/graph.js";
import { compileParts, templateJudge } from "../compile/compile.js";
import type { ExpandedMachine } from "../sets/expanded.js";
import { expandMachines } from "../sets/expand.js";
import { readDesired } from "../manifest/desired.js";
import type { MachineSpecs, Rig } from "./rig.js";
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
  for (const machine of Object.keys(specs)) {
    must(hosts.has(machine), "compile a host for each machine", `there is none for ${machine}`);
    const alone = compiled(rig, { [machine]: {} }).hosts.get(machine);
    must(
      sameJson(alone, hosts.get(machine)),
      "compile a machine's host from that machine alone",
      `${machine} is ${JSON.stringify(alone)} alone and ${JSON.stringify(hosts.get(machine))} with others`,
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
  const { cluster, ...desired } = frozen(rig.desired(specs, sample));
  const judge = templateJudge(provider, cluster);
  const machines: ExpandedMachine[] = expandMachines({ cluster, ...desired }, [], judge);
  return compileParts(provider, cluster, frozen(machines));
}

/** The value, so that whoever changes it fails. */
export function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  Object.values(value).forEach(frozen);
  return value;
}
