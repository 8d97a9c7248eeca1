import type { MemberPath, Violation } from "../api/diagnostic-codes.js";
import { type IgnorableField, isInRange, type ProviderSpecs } from "../api/provider-specs.js";
import { findServed } from "../api/served-versions.js";
import type { AnyObject, WrittenMachineSpec, WrittenVersions } from "../api/types.js";
import { nearest } from "../api/validate.js";
import { machineSpecsIn, valueAt } from "./object-parts.js";

/**
 * What the Machines of one object ask for that their provider does not have, or leave out although it
 * recommends nothing. Of providers that nobody knows nothing is said. Pure.
 */
export function checkOffers(object: AnyObject, providers: readonly ProviderSpecs[]): Violation[] {
  return machineSpecsIn(object).flatMap(({ spec, path }) => {
    const { versions = {} } = spec;
    const provider = findServed(providers, spec.providerSpec.value?.apiVersion)?.provider;
    if (provider === undefined) return [];
    const at = [...path, "versions"];
    return [...checkKubernetes(versions, at, provider), ...checkRuntime(versions, at, provider)];
  });
}

/** What the Machines of one object ask for that has no effect on their provider: a warning each. Pure. */
export function checkIgnored(object: AnyObject, providers: readonly ProviderSpecs[]): Violation[] {
  return machineSpecsIn(object).flatMap(({ spec, path }) => {
    const provider = findServed(providers, spec.providerSpec.value?.apiVersion)?.provider;
    const ignored = provider?.machineSpec.ignores ?? [];
    return ignored
      .filter((field) => isSet(field, spec))
      .map((field): Violation => {
        const summary = `has no effect on provider ${provider?.name ?? ""}`;
        return { code: "NO_EFFECT", path: [...path, ...field.split(".")], summary };
      });
  });
}

function isSet(field: IgnorableField, spec: WrittenMachineSpec): boolean {
  // Every provider makes a control-plane member of a Master; that one takes pods is more.
  if (field === "roles") return spec.roles?.length === 2;
  return valueAt(spec, field.split(".")) !== undefined;
}

function checkKubernetes(
  versions: WrittenVersions,
  path: MemberPath,
  { name, machineSpec: { offers } }: ProviderSpecs,
): Violation[] {
  const range = offers?.kubernetes;
  if (range === undefined) return [];
  return (["kubelet", "controlPlane"] as const).flatMap((field): Violation[] => {
    const version = versions[field];
    if (version === undefined || isInRange(version, range)) return [];
    const summary = `provider ${name} has no Kubernetes ${version}`;
    return [unsupported([...path, field], summary, `it has ${range}`)];
  });
}

function checkRuntime(
  versions: WrittenVersions,
  path: MemberPath,
  { name: provider, machineSpec: { offers } }: ProviderSpecs,
): Violation[] {
  const runtime = versions.containerRuntime;
  if (runtime === undefined) return [];
  const at = [...path, "containerRuntime"];
  const offered = offers?.containerRuntimes;
  if (offered === undefined) return halfRuntime(runtime, at, provider);
  const { name, version } = runtime;
  const named = offered.filter((one) => name === undefined || one.name === name);
  if (named.length === 0) {
    const names = offered.map((one) => one.name);
    const near = name && nearest(name, names);
    const hint = near === undefined ? `it has ${names.join(", ")}` : `did you mean ${near}?`;
    return [unsupported([...at, "name"], `provider ${provider} has no ${name ?? "runtime"}`, hint)];
  }
  if (version === undefined || named.some((one) => isInRange(version, one.versions))) return [];
  const summary = `provider ${provider} has no ${name ?? "container runtime"} ${version}`;
  const has = named.map((one) => `${one.name} ${one.versions}`).join(", ");
  return [unsupported([...at, "version"], summary, `it has ${has}`)];
}

function halfRuntime(
  runtime: NonNullable<WrittenVersions["containerRuntime"]>,
  path: MemberPath,
  provider: string,
): Violation[] {
  return (["name", "version"] as const)
    .filter((field) => runtime[field] === undefined)
    .map((field) => ({
      code: "FIELD_MISSING",
      path,
      summary: `missing field "${field}"`,
      hint: `provider ${provider} recommends no container runtime`,
    }));
}

function unsupported(path: MemberPath, summary: string, hint: string): Violation {
  return { code: "UNSUPPORTED_CONFIGURATION", path, summary, hint };
}
