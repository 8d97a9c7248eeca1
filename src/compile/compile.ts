import { digestOf } from "../api/digest.js";
import {
  type DomainOffer,
  domainOffer,
  isDomainNamed,
  withoutDomain,
} from "../api/failure-domains.js";
import type { JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import {
  type ClusterObject,
  clusterNameOf,
  type Desired,
  isControlPlane,
  providerValue,
} from "../api/types.js";
import { machineAnnotations, nearestPolicy } from "../api/update-policy.js";
import { resolveRefs } from "../graph/graph.js";
import type {
  CompiledParts,
  Identity,
  InfrastructureProvider,
  MachineToCompile,
  Satellite,
} from "../provider/port.js";
import type {
  ExpandedMachine,
  ResolvedMachineDeployment,
  ResolvedMachineSet,
  TemplateJudge,
} from "../sets/expanded.js";
import { chooseVersions } from "../sets/versions.js";
import { underPolicy } from "./update-policy.js";

/** Digits of the hashes in names: 32 bits, as in Cluster API's machine-template-hash. */
const nameHashDigits = 8;

/** Objects to the provider's resources. Pure. */
export function compileParts(
  provider: InfrastructureProvider,
  cluster: ClusterObject,
  machines: readonly ExpandedMachine[],
): CompiledParts {
  return provider.compile(
    cluster,
    providerValue(cluster.spec),
    machines.map((machine) => machineToCompile(provider, machine)),
    {},
  );
}

/** A machine as far as its provider's object goes, whether its versions are chosen yet or not. */
export interface MachinePlace extends Pick<ExpandedMachine, "failureDomain"> {
  readonly spec: Pick<ExpandedMachine["spec"], "providerSpec">;
}

/** A machine as its provider sees it: where it was placed stands in its providerSpec. Pure. */
export function machineToCompile(
  provider: Pick<InfrastructureProvider, "failureDomains">,
  machine: ExpandedMachine,
): MachineToCompile {
  const { name, spec, lookedUp = {} } = machine;
  return {
    name,
    spec,
    controlPlane: isControlPlane(spec),
    providerSpec: placedSpec(provider, machine),
    lookedUp,
  };
}

/** The provider's object of a machine, with where Capstan has placed it. Pure. */
export function placedSpec(
  { failureDomains }: Pick<InfrastructureProvider, "failureDomains">,
  { spec, failureDomain }: MachinePlace,
): JsonObject {
  const written = providerValue(spec);
  const isPlaced = failureDomains !== undefined && failureDomain !== undefined;
  return isPlaced ? { [failureDomains.field]: failureDomain, ...written } : written;
}

/** The short hash that names a new generation of a resource. Pure. */
export function generationHash(
  provider: Pick<InfrastructureProvider, "generationInputs">,
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

/**
 * Answers expansion's questions by compiling templates as if they were machines. `foundDomains`: where hosts are that no
 * record tells of. Pure.
 */
export function templateJudge(
  provider: InfrastructureProvider,
  cluster: ClusterObject,
  foundDomains?: ReadonlyMap<string, string>,
): TemplateJudge {
  const domains = domainOffer(provider, providerValue(cluster.spec));
  const hostSpec = (machine: ExpandedMachine): JsonObject => {
    const host = compileParts(provider, cluster, [machine]).hosts.get(machine.name) ?? {};
    // Which network a host is in is not the template's business, so Refs do not count here.
    return resolveRefs(host, () => null);
  };
  return omitUndefined({
    domains,
    foundDomains,
    offers: provider.machineSpec.offers ?? {},
    hash: (deployment) => {
      const compiled = hostSpec(templateMachine(deployment, domains));
      return generationHash(provider, provider.hostKind, compiled);
    },
    canFollow: (deployment, machine) => {
      const wanted = { name: machine.name, spec: deployment.spec.template.spec };
      const policy = nearestPolicy([deployment, cluster].flatMap(machineAnnotations));
      // What the policy rules out is refused on the machine: it must not go on in a new set.
      if (policy === "inPlaceOnly") return true;
      const offer = spreadOver(wanted.spec, domains);
      const [from, to] =
        offer === undefined ? [machine, wanted] : inOneDomain(provider, offer, { machine, wanted });
      const verdict = underPolicy(provider, policy).verdict(
        provider.hostKind,
        hostSpec(from),
        hostSpec(to),
      );
      return verdict.kind === "same" || verdict.kind === "inPlace";
    },
  });
}

/**
 * What lives with each Machine, and with one of each set and deployment, by that object ("MachineSet web"): a template
 * tells it also while it asks for no machine. Pure.
 */
export function satellitesByObject(
  provider: InfrastructureProvider,
  desired: Desired,
): ReadonlyMap<string, readonly Satellite[]> {
  const { cluster } = desired;
  const domains = domainOffer(provider, providerValue(cluster.spec));
  const resolved = chooseVersions(desired, [], provider.machineSpec.offers ?? {});
  const satellitesOf = (machine: ExpandedMachine): readonly Satellite[] =>
    compileParts(provider, cluster, [machine]).satellites?.get(machine.name) ?? [];
  const { machines, machineSets, machineDeployments } = resolved;
  return new Map([
    ...machines.map(({ kind, metadata: { name }, spec }): [string, readonly Satellite[]] => [
      `${kind} ${name}`,
      satellitesOf(inOneOf(domains, { name, spec })),
    ]),
    ...[...machineSets, ...machineDeployments].map((set): [string, readonly Satellite[]] => [
      `${set.kind} ${set.metadata.name}`,
      satellitesOf(templateMachine(set, domains)),
    ]),
  ]);
}

type WithMachineTemplate = ResolvedMachineSet | ResolvedMachineDeployment;

/** A template as if it were a machine: in the first domain, where such machines are spread. */
function templateMachine(
  { metadata, spec }: WithMachineTemplate,
  domains: DomainOffer | undefined,
): ExpandedMachine {
  return inOneOf(domains, { name: metadata.name, spec: spec.template.spec });
}

function inOneOf(domains: DomainOffer | undefined, machine: ExpandedMachine): ExpandedMachine {
  const offer = spreadOver(machine.spec, domains);
  return offer === undefined ? machine : placedIn(machine, offer);
}

/** What those are spread over that name no domain themselves. */
function spreadOver(
  spec: ExpandedMachine["spec"],
  domains: DomainOffer | undefined,
): DomainOffer | undefined {
  return domains === undefined || isDomainNamed(spec, domains.field) ? undefined : domains;
}

/** Whether what is looked up for a machine may depend on where Capstan places it. Pure. */
export function asksForDomain({
  resolve,
  lookupInputs,
  failureDomains,
}: Pick<InfrastructureProvider, "resolve" | "lookupInputs" | "failureDomains">): boolean {
  if (resolve === undefined || failureDomains === undefined) return false;
  return lookupInputs?.machine?.includes(failureDomains.field) === true;
}

/**
 * Both as if they were placed in one and the same domain: where a machine is placed makes no other set of it. That is
 * the machine's own if that is offered, since it was made with an answer for that one.
 */
function inOneDomain(
  provider: InfrastructureProvider,
  offer: DomainOffer,
  { machine, wanted }: { readonly machine: ExpandedMachine; readonly wanted: ExpandedMachine },
): [ExpandedMachine, ExpandedMachine] {
  const own = offer.domains.find((domain) => domain === machine.failureDomain);
  const { lookedUp: _elsewhere, ...unanswered } = machine;
  const from = own === undefined && asksForDomain(provider) ? unanswered : machine;
  return [placedIn(from, offer, own), placedIn(wanted, offer, own)];
}

/** As if it were placed in a domain: the first without. */
function placedIn(
  machine: ExpandedMachine,
  { field, domains: [first] }: DomainOffer,
  failureDomain = first,
): ExpandedMachine {
  return omitUndefined({ ...machine, spec: withoutDomain(machine.spec, field), failureDomain });
}
