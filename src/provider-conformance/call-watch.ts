import type { InfrastructureProvider } from "../provider/port.js";
import { aroundCalls, type ProviderCall } from "../provider/provider-calls.js";

/** By error, the provider's call that threw it first. Messages about errors are made where no rig is at hand. */
const thrownBy = new WeakMap<object, string>();

/** The provider's calls of one case: the open ones, the number of those that have ended, and the errors that they threw. */
export class CallWatch {
  /** Number of calls that have ended, with an answer or an error. It grows as long as a case makes progress. */
  ended = 0;
  private readonly open = new Map<symbol, string>();

  /** The same provider, watched. */
  watched(provider: InfrastructureProvider): InfrastructureProvider {
    return aroundCalls(provider, async (call, make) => {
      const key = Symbol(call.name);
      this.open.set(key, textOf(call));
      try {
        return await make();
      } catch (error) {
        const isKnown = typeof error !== "object" || error === null || thrownBy.has(error);
        if (!isKnown) thrownBy.set(error, textOf(call));
        throw error;
      } finally {
        this.open.delete(key);
        this.ended += 1;
      }
    });
  }

  /** "create of AcmeHost", of each call that has no answer yet. */
  underWay(): string[] {
    return [...this.open.values()];
  }
}

/** The call that threw an error or one of its causes, "locate of AcmeHost"; undefined where no provider's call did. */
export function callOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const call = thrownBy.get(error);
  if (call !== undefined) return call;
  return callOf(error instanceof Error ? error.cause : undefined);
}

function textOf({ name, kind }: ProviderCall): string {
  return kind === undefined ? name : `${name} of ${kind}`;
}
