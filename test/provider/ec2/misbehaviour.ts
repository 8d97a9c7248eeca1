import type { Blindness, World } from "../../../src/provider-conformance/index.js";

/** How clients of moto misbehave, as AWS may. */
export interface Misbehaviour {
  hook: (() => void) | undefined;
  blindness: Blindness | undefined;
  hangs: boolean;
  holdsBoot: boolean;
  /** What stops and ends does not come to its end. */
  holdsOperations: boolean;
  losesNext: boolean;
  lagMs: number;
}

type Powers =
  | "loseNextCreate"
  | "lagListings"
  | "blind"
  | "blindBy"
  | "beforeChange"
  | "hang"
  | "holdBoot"
  | "holdOperations";

/** The part of a world that its clients carry out. */
export abstract class MisbehavingWorld implements Pick<World, Powers> {
  readonly blindBy = ["denied"] as const;

  protected constructor(private readonly clients: Misbehaviour) {}

  loseNextCreate(): void {
    this.clients.losesNext = true;
  }

  lagListings(ms: number): void {
    this.clients.lagMs = ms;
  }

  blind(on: boolean, how: Blindness = "unavailable"): void {
    this.clients.blindness = on ? how : undefined;
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

  holdOperations(on: boolean): void {
    this.clients.holdsOperations = on;
  }
}

/** An answer of AWS that is an error of this name. */
export function refusal(name: string): Error {
  return Object.assign(new Error(`refused: ${name}`), { name });
}

/** Throws what a question is answered with while the world is blind. */
export function refuseLooks({ blindness }: Pick<Misbehaviour, "blindness">): void {
  if (blindness === undefined) return;
  throw blindness === "denied" ? refusal("UnauthorizedOperation") : new Error("no answer");
}

/** Refuses what takes an instance that is stopped, while stopping does not come to its end. */
export function refuseEarly({ holdsOperations }: Misbehaviour, commandName: string): void {
  const isEarly = ["ModifyInstanceAttributeCommand", "StartInstancesCommand"].includes(commandName);
  if (holdsOperations && isEarly) throw refusal("IncorrectInstanceState");
}

const onTheWay: Readonly<Record<string, keyof Misbehaviour>> = {
  running: "holdsBoot",
  stopped: "holdsOperations",
  terminated: "holdsOperations",
};
const states = { running: "pending", stopped: "stopping", terminated: "shutting-down" } as const;

/** The state that an instance is shown in: on the way to its own, while that is held. */
export function stateMeanwhile<State extends string>(
  misbehaviour: Misbehaviour,
  state: State | undefined,
): State | (typeof states)[keyof typeof states] | undefined {
  const held = state === undefined ? undefined : onTheWay[state];
  const isHeld = held !== undefined && misbehaviour[held] === true;
  return isHeld ? states[state as keyof typeof states] : state;
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
