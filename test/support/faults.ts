import { CapstanError } from "../../src/api/error.js";
import type { Clock } from "../../src/provider/port.js";
import type { FakeClock } from "./fake-clock.js";

/**
 * Something that goes wrong in one command, at its n-th cloud call, look at the cloud, state write, write to the API
 * server or new host, counted from 0. JSON data. One that the command never gets to has no effect.
 */
export type CommandFault =
  | { readonly at: "call"; readonly number: number; readonly what: CallFault }
  | { readonly at: "look"; readonly number: number; readonly what: ReadFault }
  | { readonly at: "write"; readonly number: number; readonly what: WriteFault }
  | { readonly at: "show"; readonly number: number; readonly what: "killBefore" | "killAfter" }
  | { readonly at: "boot"; readonly number: number; readonly what: BootFault };

/** What can happen to a call that would change the cloud. */
export const callFaults = [
  "killBefore",
  "killAfter",
  /** The command dies, and the call takes effect afterwards. */
  "killLate",
  "fail",
  /** This call and every later one on the same resource. */
  "failForGood",
  "loseAnswer",
  "throttle",
  /** Ctrl-C while it is under way. */
  "interrupt",
] as const;
export type CallFault = (typeof callFaults)[number];

export const readFaults = ["unknown", "unknownForGood", "throttle", "failForGood"] as const;
export type ReadFault = (typeof readFaults)[number];

/** The process dies at it; or the state cannot be written, then and later. */
type WriteFault = "killBefore" | "killAfter" | "failForGood";

/** A new host that stays pending, fails to start, or is gone instead of running. */
export const bootFaults = ["never", "fails", "dies"] as const;
export type BootFault = (typeof bootFaults)[number];

/** How often the cloud asks to slow down before it serves again. */
const throttledCalls = 3;

/** One command's process: whatever it asks for is counted, and it can be killed at any of it. */
export class CommandProcess {
  readonly killed: Promise<"killed">;
  readonly stop = new AbortController();
  /** Told when somebody interrupts the command. */
  onInterrupt: () => void = () => {};
  private isAlive = true;
  private tellKilled: (how: "killed") => void = () => {};
  private readonly counts = { call: 0, look: 0, write: 0, show: 0, boot: 0 };
  private readonly lasting = new Map<string, CallFault | ReadFault>();
  private throttled = 0;
  private refusesWrites = false;

  constructor(private readonly faults: readonly CommandFault[] = []) {
    this.killed = new Promise((resolve) => {
      this.tellKilled = resolve;
    });
  }

  /** How often the command got to each kind of place. */
  get reached(): Readonly<Record<CommandFault["at"], number>> {
    return this.counts;
  }

  /** Ends the process: nobody hears of it again, it least of all. */
  die(): Promise<never> {
    this.isAlive = false;
    this.tellKilled("killed");
    return this.silence();
  }

  /** Nothing gets past it once the process is dead. */
  async gate(): Promise<void> {
    if (!this.isAlive) await this.silence();
  }

  interrupt(): void {
    const details = { code: "CANCELLED", source: "user", message: "interrupted" } as const;
    this.stop.abort(new CapstanError(details));
    this.onInterrupt();
  }

  clock(clock: FakeClock): Clock {
    return {
      now: () => clock.now(),
      sleep: async (ms, signal) => {
        await this.gate();
        await clock.sleep(ms, signal);
      },
    };
  }

  /** What happens to a call on `resource`, if anything. */
  nextCall(resource: string): CallFault | undefined {
    return this.next("call", resource) as CallFault | undefined;
  }

  nextLook(resource: string): ReadFault | undefined {
    return this.next("look", resource) as ReadFault | undefined;
  }

  /** Nothing for what a dead command has asked for: one fault is enough. */
  nextBoot(): BootFault | undefined {
    if (!this.isAlive) return undefined;
    return this.planned("boot") as BootFault | undefined;
  }

  /** Carries out a state write, unless the process dies at it or there is no room for it. */
  write(effect: () => void): Promise<void> {
    return this.dieAround("write", async () => {
      if (this.refusesWrites) throw noSpace();
      effect();
    });
  }

  /** Carries out a write to an API server, unless the process dies at it. */
  show<T>(effect: () => Promise<T>): Promise<T> {
    return this.dieAround("show", effect);
  }

  private async dieAround<T>(at: "write" | "show", effect: () => Promise<T>): Promise<T> {
    await this.gate();
    const what = this.planned(at);
    if (what === "killBefore") await this.die();
    if (what === "failForGood") this.refusesWrites = true;
    const done = await effect();
    if (what === "killAfter") await this.die();
    return done;
  }

  private next(at: "call" | "look", resource: string): CommandFault["what"] | undefined {
    const planned = this.planned(at);
    if (planned === "throttle") this.throttled = throttledCalls;
    if (planned === "failForGood" || planned === "unknownForGood") {
      this.lasting.set(`${at} ${resource}`, planned);
    }
    if (this.throttled > 0) {
      this.throttled -= 1;
      return "throttle";
    }
    return planned ?? this.lasting.get(`${at} ${resource}`);
  }

  private planned(at: CommandFault["at"]): CommandFault["what"] | undefined {
    const number = this.counts[at];
    this.counts[at] += 1;
    return this.faults.find((one) => one.at === at && one.number === number)?.what;
  }

  private silence(): Promise<never> {
    return new Promise<never>(() => {});
  }
}

function noSpace(): CapstanError {
  const message = "cannot write the state: there is no room for it";
  return new CapstanError({ code: "NO_SPACE", source: "engine", message });
}
