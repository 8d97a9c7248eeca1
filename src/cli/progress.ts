import { counted } from "../api/counted.js";
import { quoted } from "../api/quoted.js";
import { nodeKey, type NodeKey } from "../graph/graph.js";
import type { RunEvent } from "../engine/run/run-event.js";
import type { Plan } from "../plan/plan.js";
import { planTree, type TreeLine, verbOf } from "../plan/changes/tree.js";
import { type Leftover, leftoverName } from "../provider/leftovers.js";
import { type Estimate, estimateText } from "./estimate.js";
import { fit, leastRoom, widthOf } from "./fit.js";
import { markedLines } from "./marked-lines.js";
import { painted, type Terminal, treeRows } from "./terminal.js";
import { durationText } from "./time-text.js";

/** Shows how an apply goes. */
export interface ProgressDisplay {
  on(event: RunEvent): void;
  /** Leaves the terminal as it found it. Idempotent. */
  end(): void;
}

/** What a display says about time: one clock for all of it. */
export interface Times {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Since the command began. */
  elapsedMs(): number;
  estimate(): Estimate;
}

const redrawMs = 100;
const clockMs = 1_000;
const statusLines = 4;

/** A tree that is redrawn in place on a terminal that it fits, one line per event elsewhere. */
export function makeProgress(plan: Plan, terminal: Terminal, times: Times): ProgressDisplay {
  const fits = planTree(plan).length + statusLines < terminal.rows;
  return terminal.live && fits
    ? new LiveTree(plan, terminal, times)
    : new EventLines(terminal, times);
}

/** "1m12s elapsed, about 2 min left". */
function timesText(times: Times): string {
  const parts = [`${durationText(times.elapsedMs())} elapsed`, estimateText(times.estimate())];
  return parts.filter((part) => part !== "").join(", ");
}

type RowState =
  | { readonly kind: "running"; readonly since: number; readonly what: string }
  | { readonly kind: "booting"; readonly since: number }
  | { readonly kind: "proving"; readonly since: number; readonly minReadyMs: number }
  | { readonly kind: "done"; readonly tookMs: number }
  | { readonly kind: "failed"; readonly message: string };

const doing = {
  adopt: "adopting",
  import: "importing",
  create: "creating",
  update: "updating",
  delete: "deleting",
  forget: "letting go",
  read: "reading",
} as const;

class LiveTree implements ProgressDisplay {
  private readonly tree: readonly TreeLine[];
  private readonly states = new Map<NodeKey, RowState>();
  private readonly started = new Map<NodeKey, number>();
  private readonly timer: NodeJS.Timeout;
  private drawn = 0;
  private status = "";

  constructor(
    plan: Plan,
    private readonly terminal: Terminal,
    private readonly times: Times,
  ) {
    this.tree = planTree(plan);
    this.timer = setInterval(() => this.draw(), redrawMs);
    this.timer.unref();
    this.draw();
  }

  on(event: RunEvent): void {
    const now = this.times.now();
    switch (event.kind) {
      case "pass":
        this.status = `wave ${event.number}: ${event.reason}`;
        break;
      case "waiting":
        this.status = event.reason;
        for (const key of event.keys) {
          this.states.set(key, { kind: "booting", since: this.startOf(key, now) });
        }
        break;
      case "proving": {
        const { key, readySinceMs: since, minReadyMs } = event;
        this.states.set(key, { kind: "proving", since, minReadyMs });
        break;
      }
      case "ready":
        this.states.set(event.key, { kind: "done", tookMs: now - this.startOf(event.key, now) });
        break;
      case "resource": {
        const { operation, state, kind, name, message } = event.event;
        const key = nodeKey(kind, name);
        const since = this.startOf(key, now);
        if (state === "started") {
          this.states.set(key, { kind: "running", since, what: doing[operation] });
        } else if (state === "failed") {
          this.states.set(key, { kind: "failed", message: message ?? "" });
        } else if (state === "waiting") {
          this.status = `${kind} ${name} waits: ${message ?? ""}`;
        } else {
          this.states.set(key, { kind: "done", tookMs: now - since });
        }
        break;
      }
      case "committed":
        this.status = `revision ${event.revision} committed`;
        break;
      case "leftover":
        this.status = leftoverGone(event.leftover);
        break;
      case "configured":
        this.status = event.what;
        // The row of a host that has changed otherwise, too, keeps the time of that.
        for (const key of (event.hosts ?? []).filter((one) => !this.states.has(one))) {
          this.states.set(key, { kind: "done", tookMs: now - this.startOf(key, now) });
        }
        break;
      case "unconfigured":
        this.status = unconfiguredText(event.reason);
        break;
      case "recovering":
        this.status = `recovering: ${event.reason}`;
        break;
      case "refreshing":
        this.status = refreshingText(event.keys);
        break;
      case "plannedAnew":
        this.status = `planned anew: ${event.reason}`;
        break;
      case "rollingBack":
        this.status = `rolling back: ${event.reason}`;
        break;
    }
  }

  end(): void {
    clearInterval(this.timer);
    this.draw();
  }

  private startOf(key: NodeKey, now: number): number {
    const known = this.started.get(key);
    if (known !== undefined) return known;
    this.started.set(key, now);
    return now;
  }

  private draw(): void {
    const { colors, columns } = this.terminal;
    const stateOf = ({ key }: TreeLine) => (key === undefined ? undefined : this.states.get(key));
    const rows = treeRows(this.tree, (line) => {
      const state = stateOf(line);
      return state === undefined ? undefined : this.describe(state, line);
    });
    const lines = [
      ...rows.map(({ line, head, detail }) => {
        // A line that breaks would break the redrawing: a detail without room is left out.
        const hasRoom =
          columns - 1 - widthOf(`  ${head}   `) >= Math.min(leastRoom, widthOf(detail));
        const text = fit(`  ${head}   ${hasRoom ? detail : ""}`, columns - 1);
        return stateOf(line)?.kind === "failed" ? colors.red(text) : painted(text, line, colors);
      }),
      "",
      fit(this.status, columns - 1),
      colors.dim(fit(timesText(this.times), columns - 1)),
    ];
    const up = this.drawn > 0 ? `\u001b[${this.drawn}A` : "";
    this.terminal.draw(`${up}${lines.map((line) => `\u001b[2K${line}\n`).join("")}`);
    this.drawn = lines.length;
  }

  /** How far it is, in the verb's place: that is what must not be cut on a narrow terminal. */
  private describe(state: RowState, { kind }: TreeLine): { verb: string; detail?: string } {
    const [symbol = ""] = verbOf(kind).split(" ");
    const mark = kind === "same" ? "" : `${symbol} `;
    const verb = (what: string, ms: number) => `${mark}${what} ${(ms / 1000).toFixed(1)}s`;
    switch (state.kind) {
      case "running":
        return { verb: verb(state.what, this.times.now() - state.since) };
      case "booting":
        return { verb: verb("booting", this.times.now() - state.since) };
      case "proving": {
        // The cloud's clock may be ahead of this one.
        const forMs = Math.max(0, this.times.now() - state.since);
        const seconds = Math.floor(Math.min(forMs, state.minReadyMs) / 1000);
        const proof = `${mark}ready ${seconds}/${state.minReadyMs / 1000}s`;
        return { verb: proof, detail: provingText(state) };
      }
      case "done":
        return { verb: verb("done", state.tookMs) };
      case "failed":
        return { verb: "✗ failed", detail: state.message };
    }
  }
}

/** On a terminal the clock runs below the lines. */
class EventLines implements ProgressDisplay {
  private readonly timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly terminal: Terminal,
    private readonly times: Times,
  ) {
    if (!terminal.live) return;
    this.timer = setInterval(() => this.drawClock(), clockMs).unref();
    this.drawClock();
  }

  on(event: RunEvent): void {
    const line = runEventLine(event);
    if (line === undefined) return;
    const elapsed = (this.times.elapsedMs() / 1000).toFixed(1).padStart(6);
    this.eraseClock();
    this.terminal.write(markedLines(`${elapsed}s  `, line));
    this.drawClock();
  }

  end(): void {
    clearInterval(this.timer);
    this.eraseClock();
  }

  private drawClock(): void {
    if (this.timer === undefined) return;
    const { colors, columns } = this.terminal;
    this.eraseClock();
    this.terminal.draw(colors.dim(fit(timesText(this.times), columns - 1)));
  }

  private eraseClock(): void {
    if (this.timer !== undefined) this.terminal.draw("\r\u001b[2K");
  }
}

/** Without it a host that has long booted seems to boot on. */
function provingText({ minReadyMs }: { readonly minReadyMs: number }): string {
  return `and counts after ${minReadyMs / 1000} s of that (minReadySeconds)`;
}

function unconfiguredText(reason: string): string {
  return `left as it is until the next command: ${quoted(reason)}`;
}

function refreshingText(keys: readonly NodeKey[]): string {
  return `reading ${keys.join(", ")} again`;
}

function leftoverGone(leftover: Leftover): string {
  return `${leftoverName(leftover)}: delete done`;
}

/** What happened, on one line but for what is quoted; undefined for what is not worth one. Pure. */
export function runEventLine(event: RunEvent): string | undefined {
  switch (event.kind) {
    case "pass":
      return `wave ${event.number}: ${event.reason}`;
    case "waiting":
      if (event.keys.length === 0) return `waiting: ${event.reason}`;
      return `waiting for ${counted(event.keys.length, event.of === undefined ? "host" : "resource")}: ${event.reason}`;
    case "proving":
      return `${event.key} is ready, ${provingText(event)}`;
    case "ready":
      return `${event.key} runs`;
    case "resource": {
      const { operation, state, kind, name, id, message } = event.event;
      if (state === "started" || operation === "read") return undefined;
      if (state === "failed")
        return `${kind} ${name}: ${operation} failed: ${quoted(message ?? "")}`;
      if (state === "waiting") {
        return `${kind} ${name}: ${operation} waits: ${quoted(message ?? "")}`;
      }
      return `${kind} ${name}: ${operation} done${id === undefined ? "" : ` (${id})`}`;
    }
    case "committed":
      return `revision ${event.revision} committed`;
    case "leftover":
      return leftoverGone(event.leftover);
    case "configured":
      return event.what;
    case "unconfigured":
      return unconfiguredText(event.reason);
    case "recovering":
      return `recovering: ${event.reason}`;
    case "refreshing":
      return refreshingText(event.keys);
    case "plannedAnew":
      return `planned anew, under names that were never used: ${event.reason}`;
    case "rollingBack":
      return `rolling back transaction ${event.transaction}: ${event.reason}`;
  }
}
