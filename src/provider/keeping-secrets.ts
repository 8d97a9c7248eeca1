import { isJsonObject, type JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { secretFieldsIn } from "../api/secret-fields.js";
import { userDataFieldNames } from "../api/user-data-fields.js";
import type {
  Failure,
  Found,
  InfrastructureProvider,
  LookupQuestion,
  MachineToCompile,
  NodeReport,
  PlannedResource,
  PlannedStep,
  PreflightFinding,
  Presence,
} from "./port.js";
import {
  aroundCalls,
  type CloudCalls,
  eachBound,
  type ProviderCall,
  withMembers,
} from "./provider-calls.js";
import { secretInputsOf, secretOutputsOf } from "./secret-fields.js";
import { linesIn, type SecretValues } from "./secret-values.js";

/**
 * The same provider, of whose secret fields nothing comes back in words: what passes by in them is learned, and taken out of errors,
 * failures, findings and consoles before anybody has them. What the provider lacks the result lacks too.
 */
export function keepingSecrets(
  provider: InfrastructureProvider,
  secrets: SecretValues,
): InfrastructureProvider {
  const keeper = new Keeper(provider, secrets);
  const kept = aroundCalls(provider, async (call, make) => keeper.call(call, make));
  return withMembers(kept, {
    compile: (cluster, providerSpec, machines, lookedUp) => {
      keeper.learnObjects(providerSpec, machines);
      return provider.compile(cluster, providerSpec, machines, lookedUp);
    },
    forCluster: eachBound(provider, (bound) => keepingSecrets(bound, secrets)),
  });
}

/** What is said of one resource, or of several: of which kind, and which texts of theirs nobody is told. */
interface Subject {
  readonly kind: string;
  readonly own: readonly string[];
}

/** How the answer of each call is told. A call that the port has and this does not would not compile. */
type Telling = {
  readonly [Name in keyof CloudCalls]: (
    answer: Awaited<ReturnType<CloudCalls[Name]>>,
    subject: Subject,
    call: ProviderCall,
  ) => Awaited<ReturnType<CloudCalls[Name]>>;
};

/** Of answers that have no words about a resource. */
const asIs = <Answer>(answer: Answer): Answer => answer;

class Keeper {
  /** Of what a cloud has accepted and not carried out yet: what was in its secret fields. */
  private readonly ofOperations = new Map<string, readonly string[]>();
  /** The same of resources, by token: of what a cloud does not show nobody could tell otherwise that it is theirs. */
  private readonly ofResources = new Map<string, readonly string[]>();
  /** Tokens of what the cloud has accepted to remove. */
  private readonly removed = new Set<string>();
  private readonly written: readonly string[];
  private readonly writtenOfCluster: readonly string[];
  private readonly telling: Telling = {
    locate: (presence, subject) => this.presence(presence, subject),
    // Each with its own texts: ordinary words of one would blot out what is said of another.
    locateMany: (all, _ofAll, { given: [asked = []], ...call }) =>
      all.map((one, at) => {
        const about = (asked as readonly unknown[])[at];
        return this.presence(one, this.subjectOf({ ...call, name: "locate", given: [about] }));
      }),
    create: (resource, subject) => this.observed(resource, subject),
    update: (resource, subject) => this.observed(resource, subject),
    start: (resource, subject) => this.observed(resource, subject),
    poll: (state, { own }) =>
      state.state === "failed" ? { ...state, failure: this.failure(state.failure, own) } : state,
    find: (resource, subject) => resource && this.observed(resource, subject),
    inventory: (all, subject) => all.map((one) => this.observed(one, subject)),
    owned: (all, subject) => all.map((one) => this.observed(one, subject)),
    preflight: (findings, { own }) => findings.map((one) => this.finding(one, own)),
    console: (text, { own }) => this.secrets.scrub(text, own),
    remove: asIs,
    disown: asIs,
    mark: asIs,
    markLeft: asIs,
    identity: asIs,
    resolve: asIs,
    leftovers: asIs,
    removeLeftover: asIs,
    put: asIs,
    delete: asIs,
    kept: asIs,
  };

  constructor(
    private readonly provider: InfrastructureProvider,
    private readonly secrets: SecretValues,
  ) {
    const { machineSpec, clusterSpec } = provider;
    // Whole files and commands are no values that anybody would repeat, and have ordinary words in them.
    this.written = secretFieldsIn(machineSpec.schema).filter(
      (field) => !userDataFieldNames.includes(field),
    );
    this.writtenOfCluster = secretFieldsIn(clusterSpec.schema);
  }

  learnObjects(clusterSpec: JsonObject, machines: readonly MachineToCompile[]): void {
    for (const field of this.writtenOfCluster) this.secrets.learn(clusterSpec[field]);
    for (const { providerSpec } of machines) {
      for (const field of this.written) this.secrets.learn(providerSpec[field]);
    }
  }

  /** The one way by which anything comes back from the cloud: neither an answer nor an error goes around it. */
  async call<Answer>(call: ProviderCall, make: () => Promise<Answer>): Promise<Answer> {
    const subject = this.subjectOf(call);
    const tell = this.telling[call.name] as (
      answer: unknown,
      subject: Subject,
      call: ProviderCall,
    ) => unknown;
    try {
      const answer = await make();
      this.follow(call, answer, subject.own);
      return tell(answer, subject, call) as Answer;
    } catch (error) {
      this.takeOut(error, subject.own);
      throw error;
    }
  }

  /** What the call is about. What it is given of that is learned, and remembered where it is about one resource. */
  private subjectOf(call: ProviderCall): Subject {
    const { name, given, kind: asked = this.provider.hostKind } = call;
    const operation = name === "poll" ? this.ofOperations.get(String(given[0])) : undefined;
    const own = new Set(operation);
    const tokens = new Set(given.flatMap(tokensIn));
    for (const token of tokens) for (const text of this.ofResources.get(token) ?? []) own.add(text);
    for (const spec of clusterSpecsGiven(call)) this.learnObjects(spec, []);
    for (const { kind, spec } of specsGiven(call, asked)) {
      this.learn(kind, spec);
      for (const text of this.ownTexts(kind, spec)) own.add(text);
    }
    const texts = [...own];
    const [token, ...others] = tokens;
    const isAboutOne = token !== undefined && others.length === 0;
    if (isAboutOne && own.size > 0) this.remember(token, texts);
    return { kind: asked, own: texts };
  }

  /** Hosts that end by themselves are asked about no more, and nobody says so: the oldest make room. */
  private remember(token: string, texts: readonly string[]): void {
    this.ofResources.delete(token);
    this.ofResources.set(token, texts);
    const [oldest] = this.ofResources.keys();
    if (oldest !== undefined && this.ofResources.size > mostRemembered)
      this.ofResources.delete(oldest);
  }

  private learn(kind: string, spec: JsonObject): void {
    const inputs = this.provider.handlers.get(kind)?.secretInputs ?? [];
    const written = kind === this.provider.hostKind ? this.written : [];
    for (const field of [...inputs, ...written]) this.secrets.learn(spec[field]);
  }

  /** What goes on is told of later, and what was removed until a look has shown that it is gone. */
  private follow({ name, given }: ProviderCall, answer: unknown, own: readonly string[]): void {
    const { operation, state, found, resource }: Partial<JsonObject> = isJsonObject(answer)
      ? answer
      : {};
    const mayBeAccepted = ["create", "update", "start", "remove"].includes(name);
    if (mayBeAccepted && typeof operation === "string") this.ofOperations.set(operation, own);
    if (name === "poll" && state !== "running") this.ofOperations.delete(String(given[0]));
    const [token = ""] = given.flatMap(tokensIn);
    if (name === "remove") this.removed.add(token);
    if (name !== "locate") return;
    const hasEnded = isJsonObject(resource) && resource["phase"] === "gone";
    // Before a removal nothing may be shown because listings lag, and what was made be shown later.
    const isGone = hasEnded || (found === "none" && this.removed.has(token));
    if (!isGone) return;
    this.removed.delete(token);
    this.ofResources.delete(token);
  }

  /**
   * All texts in the secret fields of a resource, whole and by lines. Files, commands and annotations are full of ordinary words, so
   * that these are taken out of what is said of this resource alone.
   */
  private ownTexts(kind: string, spec: JsonObject): string[] {
    return secretInputsOf(this.provider, kind).flatMap((field) => linesIn(spec[field]));
  }

  private finding(finding: PreflightFinding, own: readonly string[]): PreflightFinding {
    const { message, hint } = finding;
    return omitUndefined({
      ...finding,
      message: this.secrets.scrub(message, own),
      hint: hint === undefined ? undefined : this.secrets.scrub(hint, own),
    });
  }

  /** An error keeps what it is, and who has thrown it: its words alone become others. */
  private takeOut(error: unknown, own: readonly string[], depth = 0): void {
    if (!(error instanceof Error) || depth > deepestCause) return;
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(error))) {
      const text: unknown = property.value;
      if (typeof text !== "string" || property.configurable !== true) continue;
      const told = this.secrets.scrub(text, own);
      if (told !== text) Object.defineProperty(error, name, { ...property, value: told });
    }
    this.takeOut(error.cause, own, depth + 1);
  }

  private presence(presence: Presence, subject: Subject): Presence {
    switch (presence.found) {
      case "one":
        return { ...presence, resource: this.observed(presence.resource, subject) };
      case "unknown":
        return { ...presence, reason: this.secrets.scrub(presence.reason, subject.own) };
      case "none":
      case "many":
        return presence;
    }
  }

  private observed<Resource extends Found>(resource: Resource, subject: Subject): Resource {
    const { failure, node, spec, status, who } = resource;
    const kind = who?.kind ?? subject.kind;
    for (const output of secretOutputsOf(this.provider, kind)) this.secrets.learn(status[output]);
    if (failure === undefined && node?.conditions === undefined) return resource;
    const remembered = this.ofResources.get(who?.token ?? "") ?? [];
    const own = [...subject.own, ...remembered, ...this.ownTexts(kind, spec)];
    const ofFailure = failure === undefined ? {} : { failure: this.failure(failure, own) };
    const ofNode = node?.conditions === undefined ? {} : { node: this.node(node, own) };
    return { ...resource, ...ofFailure, ...ofNode };
  }

  private node(node: NodeReport, own: readonly string[]): NodeReport {
    const conditions = (node.conditions ?? []).map((one) =>
      one.message === undefined ? one : { ...one, message: this.secrets.scrub(one.message, own) },
    );
    return { ...node, conditions };
  }

  private failure(failure: Failure, own: readonly string[]): Failure {
    return { ...failure, reason: this.secrets.scrub(failure.reason, own) };
  }
}

/** Resources whose secrets are remembered: some times as many as a process looks after. */
const mostRemembered = 10_000;

/** As deep as logs tell causes, and a little more. */
const deepestCause = 8;

interface GivenSpec {
  readonly kind: string;
  readonly spec: JsonObject;
}

/** The specs that a call is given, of what is there and of what is wanted; of `asked` where it does not say their kind. Pure. */
function specsGiven({ name, given }: ProviderCall, asked: string): GivenSpec[] {
  const said = (kind: string, ...specs: unknown[]) =>
    specs.filter(isJsonObject).map((spec) => ({ kind, spec }));
  switch (name) {
    case "create":
    case "update":
      return said(asked, ...given.map(specOf), given.at(-1));
    case "preflight": {
      const [steps, planned] = [given[0] as PlannedStep[], given[2] as PlannedResource[]];
      return [
        ...steps.flatMap(({ kind, current, wanted }) => said(kind, current?.spec, wanted)),
        ...planned.flatMap(({ kind, spec }) => said(kind, spec)),
      ];
    }
    case "resolve": {
      const question = given[0] as LookupQuestion;
      return question.kind === "machine" ? said(asked, question.providerSpec) : [];
    }
    default:
      return said(asked, ...given.map(specOf));
  }
}

/** The provider's object of the Cluster, where a call is given it. Pure. */
function clusterSpecsGiven({ name, given }: ProviderCall): JsonObject[] {
  if (name === "preflight") return [given[1] as JsonObject];
  return name === "resolve" ? [(given[0] as LookupQuestion).clusterSpec] : [];
}

function specOf(given: unknown): unknown {
  return isJsonObject(given) ? given["spec"] : undefined;
}

/** The tokens of the resources that a call is given: of an identity, of what bears one, and of several of these. Pure. */
function tokensIn(given: unknown): string[] {
  if (Array.isArray(given)) return given.flatMap(tokensIn);
  if (!isJsonObject(given)) return [];
  const { who, clusterUid, token } = given;
  // A spec may have a token, too.
  const isIdentity = typeof clusterUid === "string" && typeof token === "string";
  return isIdentity ? [token] : tokensIn(who);
}
