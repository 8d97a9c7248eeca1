import { digestOf } from "../api/digest.js";
import { domainOffer, isDomainNamed } from "../api/failure-domains.js";
import type { Json, JsonObject } from "../api/json.js";
import { type ClusterObject, type Desired, providerValue } from "../api/types.js";
import { holdsUnknown, unknownValue } from "../api/unknown.js";
import type {
  InfrastructureProvider,
  LookupInputs,
  LookupQuestion,
  Lookups,
  MachineToCompile,
} from "../provider/port.js";
import { withMembers } from "../provider/provider-calls.js";
import { asksForDomain, type MachinePlace, placedSpec } from "./compile.js";

/** What a provider looks up, as far as it says. */
type Asking = Pick<InfrastructureProvider, "resolve" | "lookupInputs" | "failureDomains">;

/** A question of some objects. */
export interface AskedQuestion {
  /** Its digest: what its answer is recorded under. */
  readonly key: string;
  readonly question: LookupQuestion;
  /** Who asks, as people know them: "MachineDeployment web", in document order. */
  readonly by: readonly string[];
}

/** A machine, or what those of a template are. */
interface Asker {
  readonly by: string;
  readonly machine: MachinePlace;
}

/**
 * What is asked about such machines; undefined where nothing is. Where Capstan has placed a machine is no part of it,
 * unless `lookupInputs` names that field. Pure.
 */
export function machineQuestion(
  asking: Asking,
  cluster: ClusterObject,
  machine: MachinePlace,
): LookupQuestion | undefined {
  const providerSpec = placedSpec(asking, machine);
  return questionAbout(asking, cluster, { spec: machine.spec, providerSpec });
}

function questionAbout(
  asking: Asking,
  cluster: ClusterObject,
  { spec, providerSpec }: Pick<MachinePlace, "spec"> & Pick<MachineToCompile, "providerSpec">,
): LookupQuestion | undefined {
  if (asking.resolve === undefined) return undefined;
  const { lookupInputs } = asking;
  const clusterSpec = providerValue(cluster.spec);
  if (lookupInputs === undefined) {
    return { kind: "machine", providerSpec: providerValue(spec), clusterSpec };
  }
  const asked = picked(providerSpec, lookupInputs, "machine");
  if (Object.keys(asked).length === 0) return undefined;
  return {
    kind: "machine",
    providerSpec: asked,
    clusterSpec: picked(clusterSpec, lookupInputs, "cluster"),
  };
}

/** What is asked about the cluster itself; undefined where nothing is. Pure. */
function clusterQuestion(asking: Asking, whole: JsonObject): LookupQuestion | undefined {
  if (asking.resolve === undefined) return undefined;
  const { lookupInputs } = asking;
  if (lookupInputs === undefined) return { kind: "cluster", clusterSpec: whole };
  const clusterSpec = {
    ...picked(whole, lookupInputs, "cluster"),
    ...picked(whole, lookupInputs, "clusterOnly"),
  };
  return Object.keys(clusterSpec).length === 0 ? undefined : { kind: "cluster", clusterSpec };
}

/** What the answer to a question is recorded under. Pure. */
export function questionKey(question: LookupQuestion): string {
  return digestOf(question, 32);
}

/** Whether everything is known that a question is about: nobody is asked before. Pure. */
export function isAnswerable(question: LookupQuestion): boolean {
  return !Object.values(question).some((part) => holdsUnknown(part));
}

/** Each field that is read of it is unknown: nobody can tell which ones an answer will have. */
const unknownAnswer: JsonObject = new Proxy<Record<string, Json>>({}, { get: () => unknownValue });

/** Every question of some objects, and of machines that keep what they were made with, each once. Pure. */
export function questionsOf(
  asking: Asking,
  desired: Desired,
  machines: readonly Asker[] = [],
): AskedQuestion[] {
  const { cluster } = desired;
  const asked = new Map<string, AskedQuestion>();
  const add = (by: string, question: LookupQuestion | undefined) => {
    if (question === undefined) return;
    const key = questionKey(question);
    const known = asked.get(key);
    const others = known?.by ?? [];
    asked.set(key, { key, question, by: others.includes(by) ? others : [...others, by] });
  };
  add(`Cluster ${cluster.metadata.name}`, clusterQuestion(asking, providerValue(cluster.spec)));
  for (const { by, machine } of [...askersIn(desired), ...machines]) {
    for (const one of whereverPlaced(asking, cluster, machine)) {
      add(by, machineQuestion(asking, cluster, one));
    }
  }
  return [...asked.values()];
}

/** Those of the answers that some objects and machines ask for; absent: none. Pure. */
export function answersInUse(
  questions: readonly AskedQuestion[],
  lookups: Lookups = {},
): Lookups | undefined {
  const used = questions.flatMap(({ key }) => {
    const answer = lookups[key];
    return answer === undefined ? [] : [[key, answer] as const];
  });
  return used.length === 0 ? undefined : Object.fromEntries(used);
}

/** The same provider, which compiles with these answers. What a machine brings along itself counts first. Pure. */
export function informed(
  provider: InfrastructureProvider,
  lookups: Lookups | undefined,
): InfrastructureProvider {
  if (lookups === undefined || provider.resolve === undefined) return provider;
  const answerTo = (question: LookupQuestion | undefined): JsonObject | undefined => {
    if (question === undefined) return undefined;
    return isAnswerable(question) ? lookups[questionKey(question)] : unknownAnswer;
  };
  const { failureDomains } = provider;
  const aboutCluster = (spec: JsonObject) => answerTo(clusterQuestion(provider, spec)) ?? {};
  return withMembers(provider, {
    failureDomains: failureDomains && {
      ...failureDomains,
      of: (clusterSpec) => failureDomains.of(clusterSpec, aboutCluster(clusterSpec)),
    },
    compile: (cluster, providerSpec, machines) =>
      provider.compile(
        cluster,
        providerSpec,
        machines.map((machine) => {
          if (Object.keys(machine.lookedUp).length > 0) return machine;
          const question = questionAbout(provider, cluster, machine);
          return { ...machine, lookedUp: answerTo(question) ?? {} };
        }),
        aboutCluster(providerValue(cluster.spec)),
      ),
  });
}

/**
 * Whether the answer that a machine was made with is one for another failure domain, and so none for this one. `before`:
 * the machine as it was made; undefined of a new one. Pure.
 */
export function isAnsweredElsewhere(
  provider: Asking,
  machine: MachinePlace,
  before: MachinePlace | undefined,
): boolean {
  const { failureDomains } = provider;
  if (failureDomains === undefined || !asksForDomain(provider)) return false;
  const { field } = failureDomains;
  if (before === undefined) return !isDomainNamed(machine.spec, field);
  return placedSpec(provider, before)[field] !== placedSpec(provider, machine)[field];
}

function askersIn({ machines, machineSets, machineDeployments }: Desired): Asker[] {
  const templates = [...machineSets, ...machineDeployments].map(({ kind, metadata, spec }) => ({
    by: `${kind} ${metadata.name}`,
    machine: { spec: spec.template.spec },
  }));
  const own = machines.map(({ metadata, spec }) => ({
    by: `Machine ${metadata.name}`,
    machine: { spec },
  }));
  return [...own, ...templates];
}

/** Questions come before machines are placed: where an answer depends on that, each domain is asked about. */
function whereverPlaced(
  asking: Asking,
  cluster: ClusterObject,
  machine: MachinePlace,
): MachinePlace[] {
  const offer = asksForDomain(asking)
    ? domainOffer(asking, providerValue(cluster.spec))
    : undefined;
  const isKnown = machine.failureDomain !== undefined;
  if (offer === undefined || isKnown || isDomainNamed(machine.spec, offer.field)) return [machine];
  return offer.domains.map((failureDomain) => ({ ...machine, failureDomain }));
}

function picked(whole: JsonObject, inputs: LookupInputs, of: keyof LookupInputs): JsonObject {
  const fields = inputs[of] ?? [];
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = whole[field];
      return value === undefined ? [] : [[field, value] as const];
    }),
  );
}
