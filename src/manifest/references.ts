import type { MemberPath, Violation } from "../api/diagnostic-codes.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import { apiGroupOf, findServed } from "../api/served-versions.js";
import { clusterNameLabel } from "../api/schema.js";
import type { AnyObject, ClusterMember, ClusterObject, MachineClassObject } from "../api/types.js";
import { nearest } from "../api/validate.js";
import { belongsTo, clusterOf, describe, providerSpecsIn } from "./object-parts.js";
import { checkProviderValue } from "./provider-values.js";

/** What references are resolved with. */
interface ReferenceContext {
  readonly classes: readonly MachineClassObject[];
  readonly providers: readonly ProviderSpecs[];
  /** Objects that are here but wrong, as "Cluster default/prod": nobody is told that they are missing. */
  readonly refused: Pick<ReadonlySet<string>, "has">;
}

/**
 * Puts the provider's object of the MachineClass that valueFrom names in the place of each value.
 * Returns what is wrong with those references. Changes nothing but `object`.
 */
export function resolveClasses(
  object: AnyObject,
  { classes, providers, refused }: ReferenceContext,
): Violation[] {
  const { namespace } = object.metadata;
  const near = classes.filter(({ metadata }) => metadata.namespace === namespace);
  return providerSpecsIn(object).flatMap(({ path, spec }): Violation[] => {
    const reference = spec.valueFrom?.machineClass;
    if (reference === undefined) return [];
    const { name } = reference;
    const at = [...path, "valueFrom", "machineClass"];
    const named = [...at, "name"];
    const found = near.find(({ metadata }) => metadata.name === name);
    if (found === undefined) {
      if (refused.has(`MachineClass ${namespace}/${name}`)) return [];
      const summary = `there is no MachineClass ${namespace}/${name} in these manifests`;
      return [{ code: "CLASS_UNKNOWN", path: named, summary, hint: classHint(name, near) }];
    }
    const wrong = checkClass(found, { object, at, reference }, providers);
    if (wrong.length > 0) return wrong;
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

/** A reference to a MachineClass. */
interface ClassReference {
  readonly object: AnyObject;
  readonly at: MemberPath;
  readonly reference: { readonly name: string; readonly provider?: string };
}

/** Whether a class is for objects of that kind, and of the provider that the reference says. */
function checkClass(
  { providerSpec }: MachineClassObject,
  { object, at, reference: { name, provider: written } }: ClassReference,
  providers: readonly ProviderSpecs[],
): Violation[] {
  const served = findServed(providers, providerSpec.apiVersion);
  if (served === undefined) return [];
  const { provider, version } = served;
  if (written !== undefined && written !== provider.name) {
    const summary = `MachineClass ${name} is of provider ${provider.name}, not ${written}`;
    const hint = `write ${provider.name}, or take provider away`;
    return [{ code: "PROVIDER_MISMATCH", path: [...at, "provider"], summary, hint }];
  }
  const [wanted, other] =
    object.kind === "Cluster"
      ? [version.clusterSpec.kind, version.machineSpec.kind]
      : [version.machineSpec.kind, version.clusterSpec.kind];
  if (wanted === other || providerSpec.kind !== other) return [];
  const users = object.kind === "Cluster" ? "Machines" : "Clusters";
  const summary = `MachineClass ${name} is for ${users}: its providerSpec is a ${other}`;
  const hint = `name a class with a ${wanted}`;
  return [{ code: "NOT_ALLOWED", path: [...at, "name"], summary, hint }];
}

function classHint(name: string, classes: readonly MachineClassObject[]): string {
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
  refused: Pick<ReadonlySet<string>, "has">,
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
      path:
        object.kind === "MachineHealthCheck"
          ? ["spec", "clusterName"]
          : ["metadata", "labels", clusterNameLabel],
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
