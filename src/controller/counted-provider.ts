import { isCapstanError } from "../api/error.js";
import type { InfrastructureProvider, Presence } from "../provider/port.js";
import { aroundCalls, type CloudCalls } from "../provider/provider-calls.js";

type CloudOutcome = "ok" | "unknown" | "gone" | "throttled" | "unanswered" | "cancelled" | "failed";

/** A call to a cloud as it ended. */
export interface CloudCall {
  readonly provider: string;
  readonly call: keyof CloudCalls;
  readonly outcome: CloudOutcome;
  readonly tookMs: number;
}

/** The same provider, telling of every call to its cloud how it ended. */
export function countedProvider(
  provider: InfrastructureProvider,
  tell: (call: CloudCall) => void,
): InfrastructureProvider {
  return aroundCalls(provider, async ({ name, context }, make) => {
    const startedMs = performance.now();
    const ended = (outcome: CloudOutcome) => {
      const tookMs = performance.now() - startedMs;
      tell({ provider: provider.name, call: name, outcome, tookMs });
    };
    try {
      const answer = await make();
      ended(name === "locate" ? outcomeOfRead(answer as Presence) : "ok");
      return answer;
    } catch (error) {
      ended(context.signal.aborted ? "cancelled" : outcomeOf(error));
      throw error;
    }
  });
}

function outcomeOfRead(presence: Presence): CloudOutcome {
  return presence.found === "unknown" ? "unknown" : "ok";
}

function outcomeOf(error: unknown): CloudOutcome {
  if (!isCapstanError(error)) return "failed";
  switch (error.code) {
    case "CLOUD_THROTTLED":
      return "throttled";
    case "NO_ANSWER":
      return "unanswered";
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
