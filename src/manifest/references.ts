import type { Violation } from "../api/diagnostic-codes.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import { apiGroupOf } from "../api/served-versions.js";
import { clusterNameLabel, type ObjectOf } from "../api/schema.js";
import type { AnyObject, ClusterMember, ClusterObject } from "../api/types.js";
import { nearest } from "../api/validate.js";
import { belongsTo, clusterOf, describe, providerSpecsIn } from "./object-parts.js";
import { checkProviderValue } from "./provider-values.js";

/**
 * Puts the provider's object of the MachineClass that valueFrom names in the place of each value.
 * Returns what is wrong with those references. Changes nothing but `object`.
 */
export function resolveClasses(
  object: AnyObject,
  classes: readonly ObjectOf<"MachineClass">[],
  providers: readonly ProviderSpecs[],
): Violation[] {
  const { namespace } = object.metadata;
  const near = classes.filter(({ metadata }) => metadata.namespace === namespace);
  return providerSpecsIn(object).flatMap(({ path, spec }): Violation[] => {
    const name = spec.valueFrom?.machineClass.name;
    if (name === undefined) return [];
    const named = [...path, "valueFrom", "machineClass", "name"];
    const found = near.find(({ metadata }) => metadata.name === name);
    if (found === undefined) {
      const summary = `there is no MachineClass ${namespace}/${name} in these manifests`;
      return [{ code: "CLASS_UNKNOWN", path: named, summary, hint: classHint(name, near) }];
    }
    spec.value = structuredClone(found.providerSpec);
    return checkProviderValue(spec.value, { path, of: object }, providers).map(
      ({ code, summary }) => ({
        code,
        path: named,
        summary: `${summary} (in MachineClass ${name})`,
      }),
    );
  });
}

function classHint(name: string, classes: readonly ObjectOf<"MachineClass">[]): string {
  const names = classes.map(({ metadata }) => metadata.name);
  const near = nearest(name, names);
  if (near !== undefined) return `did you mean ${near}?`;
  return names.length === 0 ? "add a MachineClass object" : `classes here: ${names.join(", ")}`;
}

/**
 * What is wrong with an object's reference to its Cluster: there is none, or it is of another provider.
 * Of a Cluster that is `refused`, as "Cluster default/prod", it need not be told that it is missing. Pure.
 */
export function checkOwner(
  object: ClusterMember,
  clusters: readonly ClusterObject[],
  refused: ReadonlySet<string>,
): Violation[] {
  if (object.kind === "Cluster") return [];
  const owner = clusters.find((cluster) => belongsTo(object, cluster));
  if (owner !== undefined) return checkSameProvider(object, owner);
  const { namespace } = object.metadata;
  const name = clusterOf(object);
  if (refused.has(`Cluster ${namespace}/${name ?? ""}`)) return [];
  const names = clusters.map(describe).join(", ");
  return [
    {
      code: "CLUSTER_MISSING",
      path: ["metadata", "labels", clusterNameLabel],
      summary:
        name === undefined
          ? `belongs to no Cluster: label ${clusterNameLabel} is missing`
          : `belongs to Cluster ${namespace}/${name}, which is not in these manifests`,
      hint: clusters.length === 0 ? "add a Cluster object" : `clusters here: ${names}`,
    },
  ];
}

function checkSameProvider(member: ClusterMember, owner: ClusterObject): Violation[] {
  const clusters = owner.spec.providerSpec.value?.apiVersion;
  return providerSpecsIn(member).flatMap(({ path, spec }): Violation[] => {
    if (clusters === undefined || spec.value === undefined) return [];
    if (apiGroupOf(spec.value.apiVersion) === apiGroupOf(clusters)) return [];
    const summary = `is of another provider than its Cluster (${clusters})`;
    const written = spec.valueFrom === undefined ? ["value", "apiVersion"] : ["valueFrom"];
    return [{ code: "PROVIDER_MISMATCH", path: [...path, ...written], summary }];
  });
}
