import { type KubeConfig, Watch } from "@kubernetes/client-node";

interface SteadyWatchOptions {
  /** A watch that says nothing for so long is over: its connection may be lost without a word. */
  readonly silenceMs: number;
  /** An API server has taken the watch on. */
  readonly onOpen: () => void;
  /**
   * A watch is over, and the next one may meet another history of the API server: its etcd may be restored meanwhile. Not told of a watch that
   * was open and only silent.
   */
  readonly onLost: () => void;
}

/**
 * A watch as the library's informers use it, which tells of every failure instead of throwing it where
 * nobody listens, and opens nothing any more once it is shut.
 */
export class SteadyWatch extends Watch {
  private isShut = false;

  constructor(
    config: KubeConfig,
    private readonly options: SteadyWatchOptions,
  ) {
    super(config);
    const { silenceMs } = options;
    // The library keeps it to itself, and thirty seconds are what it has.
    Object.assign(this, { requestTimeoutMs: silenceMs });
  }

  /** Watches that are open stay so: who opened them ends them. */
  shut(): void {
    this.isShut = true;
  }

  override async watch(...request: Parameters<Watch["watch"]>): ReturnType<Watch["watch"]> {
    if (this.isShut) return new AbortController();
    const [path, params, callback, done] = request;
    const state = { isOpen: false, isOver: false };
    const end = (error: unknown) => {
      if (state.isOver) return;
      state.isOver = true;
      if (!state.isOpen || !isSilence(error)) this.options.onLost();
      done(error);
    };
    try {
      // Resolves when the API server has answered, one way or the other.
      const controller = await super.watch(path, params, callback, end);
      if (!state.isOver) {
        state.isOpen = true;
        this.opened(controller);
      }
      return controller;
    } catch (error) {
      // E.g. credentials that cannot be read for now.
      end(error);
      return new AbortController();
    }
  }

  private opened(controller: AbortController): void {
    if (this.isShut) controller.abort();
    else this.options.onOpen();
  }
}

/** As the library ends a watch that has said nothing for long. */
function isSilence(error: unknown): boolean {
  return error instanceof Error && error.name === "TimeoutError";
}
