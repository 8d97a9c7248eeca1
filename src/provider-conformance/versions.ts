import { type Json, type JsonObject, sameJson } from "../api/json.js";
import { type JsonSchema, jsonSchemaOf } from "../api/json-schema.js";
import type { ServedVersion } from "../api/provider-specs.js";
import { type ProviderObject, toStorageVersion } from "../api/served-versions.js";
import { validate } from "../api/validate.js";
import type { CompiledParts, InfrastructureProvider } from "../provider/port.js";
import { compiled, frozen } from "./pure.js";
import type { Rig } from "./rig.js";
import { offered, type ConformanceSubject, harnessMust, must, type OlderSpecs } from "./subject.js";

const machine = "web";

/** "converts what is written in its older versions" */
export async function conversions(rig: Rig, subject: ConformanceSubject): Promise<void> {
  const { provider } = rig;
  const { clusterSpec, machineSpec, olderSpecs = [] } = subject;
  for (const spec of [clusterSpec, machineSpec]) {
    const stored = converted(provider, spec);
    must(sameJson(stored, spec), "leave the storage version as it is", JSON.stringify(stored));
  }
  const parts = compiled(rig, { [machine]: {} });
  offered(provider.olderVersions !== undefined, "the provider serves one version");
  for (const version of provider.olderVersions ?? []) {
    const older = olderSpecs.find((one) => one.machineSpec["apiVersion"] === version.apiVersion);
    harnessMust(older !== undefined, `have olderSpecs of ${version.apiVersion}`);
    convertsPurely(provider, version, older);
    compilesToTheSame(compiled(rig, { [machine]: {} }, older), parts, version, older);
  }
}

/** Any valid object, and each time to the same. */
function convertsPurely(
  provider: InfrastructureProvider,
  version: ServedVersion,
  older: OlderSpecs,
): void {
  for (const role of ["clusterSpec", "machineSpec"] as const) {
    const schema = jsonSchemaOf(version[role].schema);
    for (const sample of samplesOf(older[role], schema)) {
      if (validate(version[role].schema, sample).length > 0) continue;
      const once = converted(provider, frozen(sample));
      must(
        sameJson(once, converted(provider, frozen(sample))),
        "convert the same object the same way",
        JSON.stringify(sample),
      );
    }
  }
}

function converted(provider: InfrastructureProvider, written: JsonObject): JsonObject {
  const stored = toStorageVersion([provider], written as ProviderObject);
  if (stored.kind === "stored") return stored.object;
  const reason = stored.kind === "failed" ? `${stored.apiVersion}: ${stored.reason}` : stored.kind;
  must(
    false,
    "convert every valid object of its older versions",
    `${reason} of ${JSON.stringify(written)}`,
  );
}

/** The object, and the same with each of its fields at the ends of what it may be. */
function samplesOf(object: JsonObject, { properties = {} }: JsonSchema): JsonObject[] {
  const others = Object.entries(properties).flatMap(([field, schema]) => {
    const { [field]: _left, ...without } = object;
    return [without, ...extremesOf(schema).map((value) => ({ ...object, [field]: value }))];
  });
  return structuredClone([object, ...others]);
}

function extremesOf({ enum: allowed = [], type, minimum, maximum }: JsonSchema): Json[] {
  const ends = [minimum, maximum].filter((end) => end !== undefined);
  return [...allowed, ...ends, ...(type === "boolean" ? [true, false] : [])];
}

/** As the newest sample does, and as the release did that stored this version: its hosts live on. */
function compilesToTheSame(
  found: CompiledParts,
  newest: CompiledParts,
  { apiVersion }: ServedVersion,
  { host: recorded }: OlderSpecs,
): void {
  const host = found.hosts.get(machine);
  must(
    sameJson(host, newest.hosts.get(machine)) &&
      sameJson(found.infrastructure, newest.infrastructure),
    `compile its samples of ${apiVersion} to the same as those of its storage version`,
    `${JSON.stringify(found.infrastructure)} and ${JSON.stringify(host)}`,
  );
  must(
    sameJson(host, recorded),
    `compile a host to the inputs that were recorded while ${apiVersion} was the storage version`,
    JSON.stringify(host),
  );
}
