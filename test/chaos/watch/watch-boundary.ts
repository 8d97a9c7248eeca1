import { clearFaultsOf, setFault, setWideFault } from "../../scenario/cloud-faults.js";
import type { LedgerRow } from "../../scenario/ledger-judge.js";
import { callBoundaries } from "../boundary.js";
import type { GateRow } from "./api-gate.js";
import { type WatchWriteKind, watchWriteKinds } from "./api-write.js";
import type { WatchWorld } from "./world.js";

/** An instant of the watch loop: just before or just after one write to the API server, or one call of the cloud. */
export interface WatchBoundary {
  readonly side: "before" | "after";
  readonly kind: "write" | "call";
  /** A kind of write, or a call. */
  readonly what: string;
  /** What it is about; null of a call about all; undefined: whatever it is about. */
  readonly name: string | null | undefined;
  /** Counted from 1 among those of the same kind and name, since its operation began. */
  readonly nth: number;
}

/** "after status Cluster quickstart #2": the same text for the same boundary, in any run. */
export function watchBoundaryText({ side, what, name, nth }: WatchBoundary): string {
  return `${side} ${what} ${name === undefined ? "(any)" : (name ?? "(all)")} #${nth}`;
}

/** What looks only is passed often, and one time is like the other. */
const mostAlike: Readonly<Record<string, number>> = { list: 2, get: 2, lease: 1, event: 2 };

/** The boundaries around all that a controller did in an operation. Pure. */
export function watchBoundaries(
  gate: readonly GateRow[],
  ledger: readonly LedgerRow[],
): WatchBoundary[] {
  const counted = new Map<string, number>();
  const writes = gate
    .filter(({ status }) => status >= 200 && status < 300)
    .flatMap(({ what, name }) => {
      const key = `${what} ${name}`;
      const nth = (counted.get(key) ?? 0) + 1;
      counted.set(key, nth);
      return (["before", "after"] as const).map((side): WatchBoundary => ({
        side,
        kind: "write",
        what,
        name,
        nth,
      }));
    });
  const calls = callBoundaries(ledger).map(({ side, what, name, nth }): WatchBoundary => ({
    side,
    kind: "call",
    what,
    name,
    nth,
  }));
  return [...writes, ...calls].filter(({ what, nth }) => nth <= (mostAlike[what] ?? Infinity));
}

/** Those that every one of some runs has passed, in the order of the first. Pure. */
export function commonBoundaries(runs: readonly (readonly WatchBoundary[])[]): WatchBoundary[] {
  const [first = [], ...others] = runs;
  const passed = others.map((one) => new Set(one.map(watchBoundaryText)));
  return first.filter((one) => passed.every((all) => all.has(watchBoundaryText(one))));
}

/** What hangs at a boundary. */
export interface WatchHold {
  isReached(): boolean;
  /** Lets it go on; what nobody waits for any more is dropped, or carried out even so. */
  release(dead: "drop" | "evenSo"): void;
}

/**
 * Makes the next operation hang at a boundary. A call that hangs before its effect has none, or with `late` has it when
 * it is let go; `ms`: how long a call hangs, if not until its caller gives up.
 */
export function holdAt(
  world: WatchWorld,
  boundary: WatchBoundary,
  { how = "hang", ms }: { readonly how?: "hang" | "late"; readonly ms?: number | undefined } = {},
): WatchHold {
  const { side, kind, what, name, nth } = boundary;
  if (kind === "write") {
    const hold = world.gate.hold({ side, what: writeKindOf(what), name: name ?? undefined, nth });
    return { isReached: () => hold.isReached, release: (dead) => hold.release(dead) };
  }
  const { cloudFile } = world.sandbox;
  const mode = side === "before" ? how : "hangAfter";
  const begin = world.sandbox.ledgerEnd();
  const fault = { call: what, mode, skip: nth - 1, ...(ms !== undefined && { ms }) };
  if (name === undefined) setWideFault(cloudFile, { ...fault, name: null, times: 1 });
  else setFault(cloudFile, { ...fault, name });
  return {
    isReached: () =>
      world.sandbox
        .ledger(begin)
        .some(({ call, fault }) => call === what && fault?.startsWith(mode) === true),
    release: () => clearFaultsOf(cloudFile, mode),
  };
}

function writeKindOf(what: string): WatchWriteKind {
  const kind = watchWriteKinds.find((one) => one === what);
  if (kind === undefined) throw new Error(`${what} is no write`);
  return kind;
}
