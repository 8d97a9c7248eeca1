import { isJsonObject, type JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { secretFieldsIn } from "../api/secret-fields.js";
import { userDataFieldNames } from "../api/user-data-fields.js";
import type {
  Failure,
  InfrastructureProvider,
  MachineToCompile,
  NodeReport,
  Observed,
  OperationState,
  PreflightFinding,
  Presence,
  ResourceHandler,
  UserDataTerms,
} from "./port.js";
import { eachBound, withMembers } from "./provider-calls.js";
import { secretInputsOf, secretOutputsOf } from "./secret-fields.js";
import { type SecretValues, textsIn } from "./secret-values.js";

/**
 * The same provider, of whose secret fields nothing comes back in words: what passes by in them is learned, and taken out of errors,
 * failures, findings and consoles before anybody has them. What the provider lacks the result lacks too.
 */
export function keepingSecrets(
  provider: InfrastructureProvider,
  secrets: SecretValues,
): InfrastructureProvider {
  const keeper = new Keeper(provider, secrets);
  return withMembers(provider, {
    handlers: new Map(
      [...provider.handlers].map(([kind, handler]) => [kind, keeper.handler(kind, handler)]),
    ),
    compile: (cluster, providerSpec, machines, lookedUp) => {
      keeper.learnObjects(providerSpec, machines);
      return provider.compile(cluster, providerSpec, machines, lookedUp);
    },
    inventory: async (ctx, scope) => keeper.listed(() => provider.inventory(ctx, scope)),
    owned:
      provider.owned && (async (ctx) => keeper.listed(async () => provider.owned?.(ctx) ?? [])),
    identity:
      provider.identity &&
      (async (ctx) => keeper.guarded(async () => provider.identity?.(ctx) ?? {})),
    resolve:
      provider.resolve &&
      (async (ctx, question) =>
        keeper.guarded(async () => provider.resolve?.(ctx, question) ?? {})),
    preflight:
      provider.preflight &&
      (async (ctx, steps, clusterSpec) => {
        const findings = await keeper.guarded(
          async () => provider.preflight?.(ctx, steps, clusterSpec) ?? [],
        );
        return findings.map((one) => keeper.finding(one));
      }),
    userData: provider.userData && keeper.terms(provider.userData),
    forCluster: eachBound(provider, (bound) => keepingSecrets(bound, secrets)),
  });
}

class Keeper {
  /** Of what a cloud has accepted and not carried out yet: what was in its secret fields. */
  private readonly ofOperations = new Map<string, readonly string[]>();
  private readonly written: readonly string[];
  private readonly writtenOfCluster: readonly string[];

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

  handler(kind: string, handler: ResourceHandler): ResourceHandler {
    const learned = [
      ...(handler.secretInputs ?? []),
      ...(kind === this.provider.hostKind ? this.written : []),
    ];
    return new Proxy(handler, {
      get: (target, key) => {
        const member = Reflect.get(target, key, target) as unknown;
        if (typeof member !== "function") return member;
        return async (...args: unknown[]) => {
          const takesSpec = key === "create" || key === "update";
          const specs = [
            takesSpec ? args.at(-1) : undefined,
            ...args.map((one) => (isJsonObject(one) ? one["spec"] : undefined)),
          ].filter(isJsonObject);
          for (const spec of specs) for (const field of learned) this.secrets.learn(spec[field]);
          const own = [
            ...specs.flatMap((spec) => this.ownTexts(kind, spec)),
            ...(key === "poll" ? (this.ofOperations.get(String(args.at(-1))) ?? []) : []),
          ];
          const answer = await this.guarded(
            async () => Reflect.apply(member, target, args) as Promise<unknown>,
            own,
          );
          const operation = isJsonObject(answer) ? answer["operation"] : undefined;
          if (takesSpec && typeof operation === "string") this.ofOperations.set(operation, own);
          if (key === "poll" && isJsonObject(answer) && answer["state"] !== "running") {
            this.ofOperations.delete(String(args.at(-1)));
          }
          return this.told(answer, own);
        };
      },
    });
  }

  /**
   * All texts in the secret fields of a resource. Files, commands and annotations are full of ordinary words, so that these are
   * taken out of what is said of this resource alone.
   */
  private ownTexts(kind: string, spec: JsonObject): string[] {
    return secretInputsOf(this.provider, kind).flatMap((field) => textsIn(spec[field]));
  }

  async listed(list: () => Promise<readonly Observed[]>): Promise<readonly Observed[]> {
    return (await this.guarded(list)).map((one) => this.observed(one));
  }

  finding(finding: PreflightFinding): PreflightFinding {
    const { message, hint } = finding;
    return omitUndefined({
      ...finding,
      message: this.secrets.scrub(message),
      hint: hint === undefined ? undefined : this.secrets.scrub(hint),
    });
  }

  terms(terms: UserDataTerms): UserDataTerms {
    if (terms.console === undefined) return terms;
    return withMembers(terms, {
      console: async (ctx, host) =>
        this.secrets.scrub(await this.guarded(async () => terms.console?.(ctx, host) ?? "")),
    });
  }

  /** What it throws says nothing of them either, and nor do the causes of that. */
  async guarded<Answer>(call: () => Promise<Answer>, own: readonly string[] = []): Promise<Answer> {
    try {
      return await call();
    } catch (error) {
      this.takeOut(error, own);
      throw error;
    }
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

  /** The answer of a handler: a resource, where one is, several of that, or what became of an operation. */
  private told(answer: unknown, own: readonly string[]): unknown {
    if (Array.isArray(answer)) return answer.map((one: unknown) => this.told(one, own));
    if (!isJsonObject(answer)) return answer;
    if ("found" in answer) return this.presence(answer as unknown as Presence, own);
    if ("state" in answer) return this.operation(answer as unknown as OperationState, own);
    return "phase" in answer ? this.observed(answer as unknown as Observed) : answer;
  }

  private presence(presence: Presence, own: readonly string[]): Presence {
    switch (presence.found) {
      case "one":
        return { ...presence, resource: this.observed(presence.resource) };
      case "unknown":
        return { ...presence, reason: this.secrets.scrub(presence.reason, own) };
      case "none":
      case "many":
        return presence;
    }
  }

  private operation(state: OperationState, own: readonly string[]): OperationState {
    if (state.state !== "failed") return state;
    return { ...state, failure: this.failure(state.failure, own) };
  }

  private observed<Resource extends Omit<Observed, "who">>(resource: Resource): Resource {
    const { failure, node } = resource;
    // What bears no marks of ours has no kind, and no record either.
    const kind =
      "who" in resource ? (resource.who as Observed["who"] | undefined)?.kind : undefined;
    for (const output of kind === undefined ? [] : secretOutputsOf(this.provider, kind)) {
      this.secrets.learn(resource.status[output]);
    }
    if (failure === undefined && node?.conditions === undefined) return resource;
    const own = this.ownTexts(kind ?? this.provider.hostKind, resource.spec);
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

/** As deep as logs tell causes, and a little more. */
const deepestCause = 8;
