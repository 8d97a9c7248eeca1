import type {
  CallContext,
  InfrastructureProvider,
  ResourceHandler,
  UserDataTerms,
} from "./port.js";

/** A call to a cloud that is about to be made. */
interface ProviderCall {
  /** locate, locateMany, create, poll, update, remove, disown, find, mark, inventory, owned, identity, preflight, resolve, leftovers, removeLeftover, put, delete, kept or console. */
  readonly name: string;
  readonly context: CallContext;
}

/** Makes the call, or does not, and answers what it answers. */
type Around = <Answer>(call: ProviderCall, make: () => Promise<Answer>) => Promise<Answer>;

const handlerCalls = [
  "locate",
  "locateMany",
  "create",
  "poll",
  "update",
  "remove",
  "disown",
  "find",
  "mark",
];
const listings = [
  "inventory",
  "owned",
  "identity",
  "preflight",
  "resolve",
  "leftovers",
  "removeLeftover",
];
/** Of a secret store. */
const storeCalls = ["put", "delete", "kept"];

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
      withAround(handler, handlerCalls, around),
    ]),
  );
  const { userData } = provider;
  return withMembers(withAround(provider, listings, around), {
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
  return withMembers(withAround(terms, ["console"], around), {
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
  calls: readonly string[],
  around: Around,
): Target {
  return new Proxy(origin, {
    get: (target, key) => {
      const member = Reflect.get(target, key, target) as unknown;
      if (typeof member !== "function") return member;
      const apply = (args: readonly unknown[]) => Reflect.apply(member, target, args) as unknown;
      if (typeof key !== "string" || !calls.includes(key)) {
        return (...args: unknown[]) => apply(args);
      }
      return (context: CallContext, ...args: unknown[]) =>
        around({ name: key, context }, async () => apply([context, ...args]));
    },
  });
}
