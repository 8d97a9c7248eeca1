import type {
  CallContext,
  CreateContext,
  Identity,
  Observed,
  Presence,
  ResourceHandler,
} from "../../src/provider/port.js";
import type { JsonObject } from "../../src/api/json.js";

type Calls = "locate" | "create" | "update" | "remove";

/** What happens to one call: an error before it has any effect, or after it, when the answer is lost. */
export interface HandlerFault {
  readonly call: Calls;
  readonly error: unknown;
  readonly afterEffect?: boolean;
}

/**
 * A kind of cloud resource in memory that does what it is told to go wrong. Tokens hold for ever,
 * as on EC2; locating by identity does not show what is gone.
 */
export class MemoryHandler implements ResourceHandler {
  readonly resources = new Map<string, Observed>();
  readonly calls: string[] = [];
  private readonly faults: HandlerFault[] = [];
  /** Answers `locate` instead of the memory, as often as there are answers. */
  readonly answers: Presence[] = [];
  /** How many listings after a creation do not show it yet. */
  lag = 0;
  /** Locating a pending resource so often makes it ready. */
  bootsAfter = 1;

  /** Lets the next fitting call go wrong. */
  fail(fault: HandlerFault): void {
    this.faults.push(fault);
  }

  add(observed: Observed): void {
    this.resources.set(observed.id, observed);
  }

  async locate(_ctx: CallContext, who: Identity, id?: string): Promise<Presence> {
    return this.call("locate", () => {
      const answer = this.answers.shift();
      if (answer !== undefined) return answer;
      if (id !== undefined) return this.byId(id);
      if (this.lag > 0) {
        this.lag -= 1;
        return { found: "none" };
      }
      const alive = [...this.resources.values()].filter(
        (one) => one.phase !== "gone" && one.who.name === who.name,
      );
      const [first, ...others] = alive;
      if (first === undefined) return { found: "none" };
      if (others.length > 0) return { found: "many", ids: alive.map((one) => one.id) };
      return { found: "one", resource: first };
    });
  }

  async create(_ctx: CreateContext, who: Identity, spec: JsonObject): Promise<Observed> {
    return this.call("create", () => {
      const known = [...this.resources.values()].find((one) => one.who.token === who.token);
      if (known !== undefined) return known;
      const id = `r-${this.resources.size + 1}`;
      const made: Observed = { id, who, phase: "pending", spec, status: { address: "10.0.0.1" } };
      this.add(made);
      return made;
    });
  }

  async update(_ctx: CallContext, current: Observed, spec: JsonObject): Promise<Observed> {
    return this.call("update", () => {
      const changed = { ...current, spec };
      this.add(changed);
      return changed;
    });
  }

  async remove(_ctx: CallContext, current: Observed): Promise<void> {
    return this.call("remove", () => this.add({ ...current, phase: "gone" }));
  }

  private byId(id: string): Presence {
    const found = this.resources.get(id);
    if (found === undefined) return { found: "none" };
    this.bootsAfter -= 1;
    if (found.phase === "pending" && this.bootsAfter <= 0) this.add({ ...found, phase: "ready" });
    return { found: "one", resource: this.resources.get(id) ?? found };
  }

  private call<T>(name: Calls, effect: () => T): T {
    this.calls.push(name);
    const next = this.faults.findIndex(({ call }) => call === name);
    if (next === -1) return effect();
    const [fault] = this.faults.splice(next, 1);
    if (fault?.afterEffect === true) effect();
    throw fault?.error;
  }
}
