import type { InfrastructureProvider } from "../provider/port.js";
import { aroundCalls, type ProviderCall } from "../provider/provider-calls.js";

/** By error, the call of a provider that threw it first. Errors are told of in places that know no rig. */
const thrownBy = new WeakMap<object, string>();

/** The provider's calls of one case: which are under way, how many have ended, and what they threw. */
export class CallWatch {
  /** Calls that have ended, one way or another: what a case that goes on has more and more of. */
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

/** The call that threw an error, or one of its causes; undefined: no call of a provider did. */
export function callOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const call = thrownBy.get(error);
  if (call !== undefined) return call;
  return callOf(error instanceof Error ? error.cause : undefined);
}

function textOf({ name, kind }: ProviderCall): string {
  return kind === undefined ? name : `${name} of ${kind}`;
}
