import { digestOf } from "../api/digest.js";
import type { JsonObject } from "../api/json.js";
import { type ClusterObject, clusterNameOf, isControlPlane, providerValue } from "../api/types.js";
import { machineAnnotations, nearestPolicy } from "../api/update-policy.js";
import { resolveRefs } from "../graph/graph.js";
import type {
  CompiledParts,
  Identity,
  InfrastructureProvider,
  MachineToCompile,
} from "../provider/port.js";
import type { ExpandedMachine, TemplateJudge } from "../sets/expanded.js";
import { underPolicy } from "./update-policy.js";

/** Digits of the hashes in names: 32 bits, as in Cluster API's machine-template-hash. */
const nameHashDigits = 8;

/** Objects to the provider's resources. Pure. */
export function compileParts(
  provider: InfrastructureProvider,
  cluster: ClusterObject,
  machines: readonly ExpandedMachine[],
): CompiledParts {
  return provider.compile(cluster, providerValue(cluster.spec), machines.map(machineToCompile));
}

/** A machine as its provider sees it. Pure. */
export function machineToCompile({ name, spec }: ExpandedMachine): MachineToCompile {
  return {
    name,
    spec,
    controlPlane: isControlPlane(spec),
    providerSpec: providerValue(spec),
  };
}

/** The short hash that names a new generation of a resource. Pure. */
export function generationHash(
  provider: InfrastructureProvider,
  kind: string,
  spec: JsonObject,
): string {
  return digestOf(provider.generationInputs(kind, spec), nameHashDigits);
}

/** Identity and idempotency token of a resource: a function of cluster UID, kind and name alone. */
export function identityOf(
  cluster: ClusterObject,
  clusterUid: string,
  kind: string,
  name: string,
): Identity {
  return {
    cluster: clusterNameOf(cluster),
    clusterUid,
    kind,
    name,
    token: digestOf([clusterUid, kind, name], 32),
  };
}

/** Answers expansion's questions by compiling templates as if they were machines. Pure. */
export function templateJudge(
  provider: InfrastructureProvider,
  cluster: ClusterObject,
): TemplateJudge {
  const hostSpec = (name: string, spec: ExpandedMachine["spec"]): JsonObject => {
    const host = compileParts(provider, cluster, [{ name, spec }]).hosts.get(name) ?? {};
    // Which network a host is in is not the template's business, so Refs do not count here.
    return resolveRefs(host, () => null);
  };
  return {
    offers: provider.machineSpec.offers ?? {},
    hash: ({ metadata, spec }) =>
      generationHash(provider, provider.hostKind, hostSpec(metadata.name, spec.template.spec)),
    canFollow: (deployment, machine) => {
      const { name, spec } = machine;
      const policy = nearestPolicy([deployment, cluster].flatMap(machineAnnotations));
      // What the policy rules out is refused on the machine: it must not go on in a new set.
      if (policy === "inPlaceOnly") return true;
      const verdict = underPolicy(provider, policy).verdict(
        provider.hostKind,
        hostSpec(name, spec),
        hostSpec(name, deployment.spec.template.spec),
      );
      return verdict.kind === "same" || verdict.kind === "inPlace";
    },
  };
}
