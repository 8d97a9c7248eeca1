import type {
  CallContext,
  InfrastructureProvider,
  ResourceHandler,
  SecretStore,
  UserDataTerms,
} from "./port.js";

/** The members that ask a cloud: those that answer with a promise. All others are data and pure functions. */
type AskingMembers<Port> = {
  [Name in keyof Port]-?: NonNullable<Port[Name]> extends (...given: never[]) => Promise<unknown>
    ? Name
    : never;
}[keyof Port];

type AskingPart<Port> = Required<Pick<Port, AskingMembers<Port>>>;

/** All calls to a cloud, by name. */
export type CloudCalls = AskingPart<ResourceHandler> &
  AskingPart<InfrastructureProvider> &
  AskingPart<UserDataTerms> &
  AskingPart<SecretStore>;

/** A call to a cloud that is about to be made. */
export interface ProviderCall {
  readonly name: keyof CloudCalls;
  /** Of the handler that is asked; absent: the provider is. */
  readonly kind?: string;
  readonly context: CallContext;
  /** What it is given beside the context. */
  readonly given: readonly unknown[];
}

/** Makes the call, with the context that it was given or another one, or does not, and answers what it answers. */
type Around = <Answer>(
  call: ProviderCall,
  make: (context?: CallContext) => Promise<Answer>,
) => Promise<Answer>;

/** Names of calls. A call of the port that is left out does not compile, so that nobody gets around what is done around all of them. */
type Names<Port> = Readonly<Record<AskingMembers<Port>, true>>;

/** Of handlers. */
export const handlerCalls: Names<ResourceHandler> = {
  locate: true,
  locateMany: true,
  create: true,
  poll: true,
  update: true,
  start: true,
  remove: true,
  disown: true,
  find: true,
  mark: true,
};
const providerCalls: Names<InfrastructureProvider> = {
  inventory: true,
  owned: true,
  identity: true,
  preflight: true,
  resolve: true,
  leftovers: true,
  removeLeftover: true,
};
const termsCalls: Names<UserDataTerms> = { console: true, markLeft: true };
const storeCalls: Names<SecretStore> = { put: true, delete: true, kept: true };

/**
 * The same provider with something done around every call to its cloud. What the provider lacks the
 * result lacks too, and its methods see the provider itself as `this`.
 */
export function aroundCalls(
  provider: InfrastructureProvider,
  around: Around,
): InfrastructureProvider {
  const handlers = new Map(
    [...provider.handlers].map(([kind, handler]): [string, ResourceHandler] => [
      kind,
      withAround(handler, handlerCalls, async (call, make) => around({ ...call, kind }, make)),
    ]),
  );
  const { userData } = provider;
  return withMembers(withAround(provider, providerCalls, around), {
    handlers,
    userData: userData && termsAround(userData, around),
    forCluster: eachBound(provider, (bound) => aroundCalls(bound, around)),
  });
}

/** `forCluster` of a provider whose providers for single clusters are made into others, each once. */
export function eachBound(
  provider: InfrastructureProvider,
  made: (bound: InfrastructureProvider) => InfrastructureProvider,
): InfrastructureProvider["forCluster"] {
  if (provider.forCluster === undefined) return undefined;
  const known = new Map<InfrastructureProvider, InfrastructureProvider>();
  return (clusterSpec) => {
    const bound = provider.forCluster?.(clusterSpec);
    if (bound === undefined) return undefined;
    const other = known.get(bound) ?? made(bound);
    known.set(bound, other);
    return other;
  };
}

function termsAround(terms: UserDataTerms, around: Around): UserDataTerms {
  const { secrets } = terms;
  return withMembers(withAround(terms, termsCalls, around), {
    secrets: secrets && withAround(secrets, storeCalls, around),
  });
}

/** The same with other members; one that the original lacks it lacks too. */
export function withMembers<Target extends object>(
  origin: Target,
  members: { readonly [Key in keyof Target]?: Target[Key] | undefined },
): Target {
  return new Proxy(origin, {
    get: (target, key) => {
      const other = (members as Record<string | symbol, unknown>)[key];
      return other ?? (Reflect.get(target, key, target) as unknown);
    },
  });
}

function withAround<Target extends object>(
  origin: Target,
  calls: Names<Target>,
  around: Around,
): Target {
  return new Proxy(origin, {
    get: (target, key) => {
      const member = Reflect.get(target, key, target) as unknown;
      if (typeof member !== "function") return member;
      const apply = (args: readonly unknown[]) => Reflect.apply(member, target, args) as unknown;
      if (!Object.hasOwn(calls, key)) return (...args: unknown[]) => apply(args);
      const name = key as keyof CloudCalls;
      return (context: CallContext, ...given: unknown[]) =>
        around({ name, context, given }, async (other = context) => apply([other, ...given]));
    },
  });
}
