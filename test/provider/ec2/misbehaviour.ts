import type { World } from "../../../src/provider-conformance/index.js";

/** How clients of moto misbehave, as AWS may. */
export interface Misbehaviour {
  hook: (() => void) | undefined;
  isBlind: boolean;
  hangs: boolean;
  holdsBoot: boolean;
  losesNext: boolean;
  lagMs: number;
}

type Powers = "loseNextCreate" | "lagListings" | "blind" | "beforeChange" | "hang" | "holdBoot";

/** The part of a world that its clients carry out. */
export abstract class MisbehavingWorld implements Pick<World, Powers> {
  protected constructor(private readonly clients: Misbehaviour) {}

  loseNextCreate(): void {
    this.clients.losesNext = true;
  }

  lagListings(ms: number): void {
    this.clients.lagMs = ms;
  }

  blind(on: boolean): void {
    this.clients.isBlind = on;
  }

  beforeChange(hook?: () => void): void {
    this.clients.hook = hook;
  }

  hang(on: boolean): void {
    this.clients.hangs = on;
  }

  holdBoot(on: boolean): void {
    this.clients.holdsBoot = on;
  }
}

/** What of a client's configuration sends its requests. */
interface Sending {
  readonly requestHandler: {
    handle: (request: never, options?: { readonly abortSignal?: unknown }) => Promise<unknown>;
  };
}

/** While it hangs, a request is sent and nothing comes back until its caller gives up. */
export function hangAtTheDoor(config: Sending, misbehaviour: Pick<Misbehaviour, "hangs">): void {
  const { requestHandler } = config;
  const handle = requestHandler.handle.bind(requestHandler);
  requestHandler.handle = async (request, options) => {
    const signal = options?.abortSignal instanceof AbortSignal ? options.abortSignal : undefined;
    if (misbehaviour.hangs) {
      await new Promise((_, reject) => {
        signal?.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
      });
    }
    return handle(request, options);
  };
}
