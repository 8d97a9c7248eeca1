import { type Json, type JsonObject, sameJson } from "../api/json.js";
import { allowedValuesOf, jsonSchemaOf } from "../api/json-schema.js";
import type { IgnorableField } from "../api/provider-specs.js";
import { providerValue } from "../api/types.js";
import { userDataFieldNames } from "../api/user-data-fields.js";
import { validate } from "../api/validate.js";
import type { MachineToCompile, Satellite } from "../provider/port.js";
import { elsewhen } from "./elsewhen.js";
import { otherValues } from "./other-values.js";
import { frozen } from "./pure.js";
import type { Rig } from "./rig.js";
import { must } from "./subject.js";

/** "sees every field of a spec that differs" */
export async function seesEachField(rig: Rig): Promise<void> {
  const { provider, kind } = rig;
  const { spec } = await rig.prepare();
  for (const [field, value] of Object.entries(spec)) {
    for (const other of otherValues(value)) {
      const verdict = provider.verdict(kind, frozen(spec), frozen({ ...spec, [field]: other }));
      must(
        verdict.kind !== "same",
        "see that two specs differ, by whatever field (verdict)",
        `${field} was ${JSON.stringify(value)} and is to be ${JSON.stringify(other)}, and the verdict is same`,
      );
    }
  }
  if (rig.isHost) eachFieldCounts(rig);
}

/** Law 13: whatever a user can write is an input of the host, or of what lives with it, or named as without effect. */
function eachFieldCounts(rig: Rig): void {
  const machine = rig.sampleMachine();
  const { host, satellites } = partsOf(rig, machine);
  const changes = changesOf(rig, machine);
  const fixed = changes.filter(([, changed]) => changed.length === 0).map(([field]) => field);
  if (fixed.length > 0) {
    rig.exceptions.push(`schema and sample give no other value of ${fixed.join(", ")}`);
  }
  for (const [field, changed] of changes) {
    const others = changed.map((one) => partsOf(rig, one));
    const different = others.map((one) => one.host).filter((other) => !sameJson(other, host));
    const lives = others.some((one) => !sameJson(one.satellites, satellites));
    must(
      different.length > 0 || lives || others.length === 0,
      "make each field that users can write an input of the host, or name it in ignores",
      `a change of ${field} changes no input`,
    );
    for (const other of different) {
      const { kind } = rig.provider.verdict(rig.kind, host, other);
      must(
        kind !== "same",
        "see that two specs differ (verdict)",
        `${field} does, and it says same`,
      );
    }
  }
}

/** The sample with one field otherwise, by field: its own ones, and those that all Machines share. */
function changesOf(rig: Rig, machine: MachineToCompile): [string, MachineToCompile[]][] {
  const { schema, ignores = [] } = rig.provider.machineSpec;
  const {
    apiVersion: _version,
    kind: _kind,
    ...properties
  } = jsonSchemaOf(schema).properties ?? {};
  const { providerSpec } = machine;
  const own = Object.entries(properties)
    .filter(([field]) => !userDataFieldNames.some((one) => one === field))
    .map(([field, fieldSchema]): [string, MachineToCompile[]] => {
      const { minimum, maximum } = fieldSchema;
      const values = [
        ...(allowedValuesOf(fieldSchema) ?? []),
        ...[minimum, maximum].filter((end) => end !== undefined),
        ...otherValues(providerSpec[field] ?? null),
      ];
      const samples = values
        .map((value) => ({ ...providerSpec, [field]: value }))
        .filter((one) => !sameJson(one, providerSpec) && validate(schema, one).length === 0);
      return [field, samples.map((one) => ({ ...machine, providerSpec: one }))];
    });
  const { spec } = machine;
  const taint = { key: "conformance", value: "", effect: "NoSchedule" } as const;
  const shared: [IgnorableField | "versions.kubelet", MachineToCompile][] = [
    [
      "versions.kubelet",
      { ...machine, spec: { ...spec, versions: { ...spec.versions, kubelet: "1.33.5" } } },
    ],
    [
      "metadata.labels",
      {
        ...machine,
        spec: { ...spec, metadata: { ...spec.metadata, labels: { conformance: "" } } },
      },
    ],
    ["taints", { ...machine, spec: { ...spec, taints: [taint] } }],
  ];
  const heeded = shared.filter(([field]) => !ignores.some((one) => one === field));
  return [...own, ...heeded.map(([field, one]): [string, MachineToCompile[]] => [field, [one]])];
}

/** "judges and names the same at any time" */
export async function judgesAtAnyTime(rig: Rig): Promise<void> {
  const { provider, kind, subject } = rig;
  const { spec } = await rig.prepare();
  const wanted = rig.isHost ? (await rig.prepare("web", subject.replacing)).spec : spec;
  const answers: Readonly<Record<string, () => Json>> = {
    generationInputs: () => provider.generationInputs(kind, frozen(spec)),
    verdict: () => ({ ...provider.verdict(kind, frozen(spec), frozen(wanted)) }),
    compile: () => partsOf(rig, rig.sampleMachine()).host,
  };
  for (const [name, answer] of Object.entries(answers)) {
    const now = answer();
    const later = elsewhen(rig.world.clock, answer);
    must(
      sameJson(now, later),
      `answer the same at any time: it goes by neither clock nor chance (${name})`,
      `${JSON.stringify(now)} became ${JSON.stringify(later)}`,
    );
  }
}

/** Inputs of a machine's host, and what lives with it. */
function partsOf(
  rig: Rig,
  machine: MachineToCompile,
): { readonly host: JsonObject; readonly satellites: readonly Satellite[] } {
  const { cluster } = rig.desired({});
  const value = providerValue(cluster.spec);
  const { hosts, satellites } = rig.provider.compile(cluster, value, [machine]);
  const { name } = machine;
  return { host: hosts.get(name) ?? {}, satellites: satellites?.get(name) ?? [] };
}
