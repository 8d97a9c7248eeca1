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
import { secretOutputsOf } from "./secret-fields.js";
import type { SecretValues } from "./secret-values.js";

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
    owned: provider.owned && (async (ctx) => keeper.listed(async () => provider.owned?.(ctx) ?? [])),
    identity:
      provider.identity && (async (ctx) => keeper.guarded(async () => provider.identity?.(ctx) ?? {})),
    resolve:
      provider.resolve &&
      (async (ctx, question) =>
        keeper.guarded(async () => provider.resolve?.(ctx, question) ?? {})),
    preflight:
      provider.preflight &&
      (async (ctx, steps) => {
        const findings = await keeper.guarded(
          async () => provider.preflight?.(ctx, steps) ?? [],
        );
        return findings.map((one) => keeper.finding(one));
      }),
    userData: provider.userData && keeper.terms(provider.userData),
    forCluster: eachBound(provider, (bound) => keepingSecrets(bound, secrets)),
  });
}

class Keeper {
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
    const inputs = [
      ...(handler.secretInputs ?? []),
      ...(kind === this.provider.hostKind ? this.written : []),
    ];
    const learnSpec = (spec: unknown): void => {
      if (!isJsonObject(spec)) return;
      for (const field of inputs) this.secrets.learn(spec[field]);
    };
    return new Proxy(handler, {
      get: (target, key) => {
        const member = Reflect.get(target, key, target) as unknown;
        if (typeof member !== "function") return member;
        return async (...args: unknown[]) => {
          const spec = args.at(-1);
          if (key === "create" || key === "update") learnSpec(spec);
          for (const one of args) if (isJsonObject(one)) learnSpec(one["spec"]);
          return this.told(
            await this.guarded(async () => Reflect.apply(member, target, args) as Promise<unknown>),
          );
        };
      },
    });
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
  async guarded<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    try {
      return await call();
    } catch (error) {
      this.takeOut(error);
      throw error;
    }
  }

  /** An error keeps what it is, and who has thrown it: its words alone become others. */
  private takeOut(error: unknown, depth = 0): void {
    if (!(error instanceof Error) || depth > deepestCause) return;
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(error))) {
      const text: unknown = property.value;
      if (typeof text !== "string" || property.configurable !== true) continue;
      const told = this.secrets.scrub(text);
      if (told !== text) Object.defineProperty(error, name, { ...property, value: told });
    }
    this.takeOut(error.cause, depth + 1);
  }

  /** The answer of a handler: a resource, where one is, several of that, or what became of an operation. */
  private told(answer: unknown): unknown {
    if (Array.isArray(answer)) return answer.map((one: unknown) => this.told(one));
    if (!isJsonObject(answer)) return answer;
    if ("found" in answer) return this.presence(answer as unknown as Presence);
    if ("state" in answer) return this.operation(answer as unknown as OperationState);
    return "phase" in answer ? this.observed(answer as unknown as Observed) : answer;
  }

  private presence(presence: Presence): Presence {
    switch (presence.found) {
      case "one":
        return { ...presence, resource: this.observed(presence.resource) };
      case "unknown":
        return { ...presence, reason: this.secrets.scrub(presence.reason) };
      case "none":
      case "many":
        return presence;
    }
  }

  private operation(state: OperationState): OperationState {
    return state.state === "failed" ? { ...state, failure: this.failure(state.failure) } : state;
  }

  private observed<Resource extends Omit<Observed, "who">>(resource: Resource): Resource {
    const { failure, node } = resource;
    // What bears no marks of ours has no kind, and no record either.
    const kind = "who" in resource ? (resource.who as Observed["who"] | undefined)?.kind : undefined;
    for (const output of kind === undefined ? [] : secretOutputsOf(this.provider, kind)) {
      this.secrets.learn(resource.status[output]);
    }
    const ofFailure = failure === undefined ? {} : { failure: this.failure(failure) };
    const ofNode = node?.conditions === undefined ? {} : { node: this.node(node) };
    return { ...resource, ...ofFailure, ...ofNode };
  }

  private node(node: NodeReport): NodeReport {
    const conditions = (node.conditions ?? []).map((one) =>
      one.message === undefined ? one : { ...one, message: this.secrets.scrub(one.message) },
    );
    return { ...node, conditions };
  }

  private failure(failure: Failure): Failure {
    return { ...failure, reason: this.secrets.scrub(failure.reason) };
  }
}

/** As deep as logs tell causes, and a little more. */
const deepestCause = 8;
