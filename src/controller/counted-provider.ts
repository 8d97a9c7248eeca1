import { isCapstanError } from "../api/error.js";
import type {
  CallContext,
  InfrastructureProvider,
  Presence,
  ResourceHandler,
} from "../provider/port.js";

export type CloudOutcome = "ok" | "unknown" | "gone" | "throttled" | "cancelled" | "failed";

/** A call to a cloud as it ended. */
export interface CloudCall {
  readonly provider: string;
  /** locate, create, update, remove, inventory or owned. */
  readonly call: string;
  readonly outcome: CloudOutcome;
  readonly tookMs: number;
}

type Tell = (call: CloudCall) => void;

const handlerCalls = ["locate", "create", "update", "remove"];
const listings = ["inventory", "owned"];

/**
 * The same provider, telling of every call to its cloud how it ended. What the provider lacks the
 * result lacks too, and its methods see the provider itself as `this`.
 */
export function countedProvider(
  provider: InfrastructureProvider,
  tell: Tell,
): InfrastructureProvider {
  const count = { provider: provider.name, tell };
  const handlers = new Map(
    [...provider.handlers].map(([kind, handler]): [string, ResourceHandler] => [
      kind,
      withCounted(handler, handlerCalls, count),
    ]),
  );
  const counted = withCounted(provider, listings, count);
  return new Proxy(counted, {
    get: (target, key) =>
      key === "handlers" ? handlers : (Reflect.get(target, key, target) as unknown),
  });
}

function withCounted<Target extends object>(
  target: Target,
  calls: readonly string[],
  count: { readonly provider: string; readonly tell: Tell },
): Target {
  return new Proxy(target, {
    get: (_, key) => {
      const member = Reflect.get(target, key, target) as unknown;
      if (typeof member !== "function") return member;
      if (typeof key !== "string" || !calls.includes(key)) {
        return (...args: unknown[]) => Reflect.apply(member, target, args) as unknown;
      }
      return async (ctx: CallContext, ...args: unknown[]) => {
        const startedMs = performance.now();
        const tell = (outcome: CloudOutcome) => {
          count.tell({ ...count, call: key, outcome, tookMs: performance.now() - startedMs });
        };
        try {
          const answer: unknown = await Reflect.apply(member, target, [ctx, ...args]);
          tell(key === "locate" ? outcomeOfLook(answer as Presence) : "ok");
          return answer;
        } catch (error) {
          tell(ctx.signal.aborted ? "cancelled" : outcomeOf(error));
          throw error;
        }
      };
    },
  });
}

function outcomeOfLook(presence: Presence): CloudOutcome {
  return presence.found === "unknown" ? "unknown" : "ok";
}

function outcomeOf(error: unknown): CloudOutcome {
  if (!isCapstanError(error)) return "failed";
  switch (error.code) {
    case "CLOUD_THROTTLED":
      return "throttled";
    case "RESOURCE_GONE":
      return "gone";
    case "CANCELLED":
    case "ENGINE_DEAD":
    case "NOT_LEADER":
      return "cancelled";
    default:
      return "failed";
  }
}
