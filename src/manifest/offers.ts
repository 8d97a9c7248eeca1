import type { MemberPath, Violation } from "../api/diagnostic-codes.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import type { AnyObject, WrittenMachineSpec } from "../api/types.js";
import { machineSpecsIn } from "./object-parts.js";

/**
 * What the Machines of one object ask for that their provider does not have, or leave out although it
 * recommends nothing. Of providers that nobody knows nothing is said. Pure.
 */
export function checkOffers(object: AnyObject, providers: readonly ProviderSpecs[]): Violation[] {
  return machineSpecsIn(object).flatMap(({ spec, path }) => {
    const { value } = spec.providerSpec;
    const provider = providers.find(({ apiVersion }) => apiVersion === value?.apiVersion);
    return provider === undefined ? [] : checkRuntime(spec, [...path, "versions"], provider);
  });
}

function checkRuntime(
  { versions }: WrittenMachineSpec,
  path: MemberPath,
  { name: provider, machineSpec: { offers } }: ProviderSpecs,
): Violation[] {
  const runtime = versions?.containerRuntime;
  if (runtime === undefined || (offers?.containerRuntimes ?? []).length > 0) return [];
  return (["name", "version"] as const)
    .filter((field) => runtime[field] === undefined)
    .map((field) => ({
      code: "FIELD_MISSING",
      path: [...path, "containerRuntime"],
      summary: `missing field "${field}"`,
      hint: `provider ${provider} recommends no container runtime`,
    }));
}
