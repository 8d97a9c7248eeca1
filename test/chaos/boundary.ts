import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "../scenario/command.js";
import { setFault } from "../scenario/cloud-faults.js";
import { FileWrites } from "../scenario/file-writes.js";
import type { LedgerRow } from "../scenario/ledger-judge.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { type Bucket, type WriteKind, type WriteRow } from "../scenario/s3-bucket.js";
import { S3Backend } from "../scenario/s3-server.js";
import { until } from "../scenario/until.js";
import { patient } from "./patience.js";

/**
 * An instant of a run: just before or just after one thing that it does to the world outside. Calls
 * run side by side, so it is the n-th of its own kind, never the n-th of all.
 */
export interface Boundary {
  readonly side: "before" | "after";
  readonly kind: "call" | "write";
  /** A call of the cloud, or a request that changes what the backend stores. */
  readonly what: string;
  /** The resource that a call is about, or what is stored; null for a call about all. */
  readonly name: string | null;
  /** Counted from 1 among those of the same kind, call and name. */
  readonly nth: number;
}

/** A run was over before it came to its boundary: less happened side by side than in the recorded one, or more was joined. */
export class BoundaryMissed extends Error {
  constructor(boundary: Boundary, said: string) {
    super(`it ended before it came to ${boundaryText(boundary)}:\n${said}`);
  }
}

/** The boundary of the same kind before; undefined of the first. Pure. */
export function boundaryBefore(boundary: Boundary): Boundary | undefined {
  return boundary.nth === 1 ? undefined : { ...boundary, nth: boundary.nth - 1 };
}

const cloudCalls = ["create", "get", "list", "update", "terminate", "disown", "mark"];

/** The boundaries around all calls in a ledger, in its order. A call that fails by fault has none. */
export function callBoundaries(ledger: readonly LedgerRow[]): Boundary[] {
  const calls = ledger.filter(({ call }) => cloudCalls.includes(call));
  const events = calls.map(({ call, name }) => ({ kind: "call", what: call, name }) as const);
  const around = boundariesAround(events);
  return around.filter((_, index) => calls[Math.floor(index / 2)]?.effect !== "refused: fail");
}

/** The boundaries around all writes in a bucket's log but those that nobody ever reads again. */
export function writeBoundaries(log: readonly WriteRow[]): Boundary[] {
  const read = log.filter(({ name }) => !/\.bak$|\/(history|backups)\//.test(name));
  return boundariesAround(read.map((write) => ({ kind: "write", ...write })));
}

/** Writes to a state file are seen when they are done: there is nothing to hold them with. */
export function fileBoundaries(count: number): Boundary[] {
  const write = { side: "after", kind: "write", what: "replace", name: "state-file" } as const;
  return Array.from({ length: count }, (_, index) => ({ ...write, nth: index + 1 }));
}

function boundariesAround(events: readonly Omit<Boundary, "side" | "nth">[]): Boundary[] {
  const counted = new Map<string, number>();
  return events.flatMap((event) => {
    const key = `${event.what} ${event.name ?? ""}`;
    const nth = (counted.get(key) ?? 0) + 1;
    counted.set(key, nth);
    return (["before", "after"] as const).map((side) => ({ side, ...event, nth }));
  });
}

/** "after create cp-0-7ca2dcf0-1 #1": the same text for the same boundary, in any run. */
export function boundaryText({ side, what, name, nth }: Boundary): string {
  return `${side} ${what} ${name ?? "(all)"} #${nth}`;
}

/** Whether a run changes something of the cloud there, as opposed to looking at it. */
export function isMutating({ what }: Pick<Boundary, "what">): boolean {
  return !/^(get|list)$|:(Get|Describe)/.test(what);
}

/** Makes the call at a boundary go wrong in a mode of the local cloud. */
export type Aiming = (sandbox: Sandbox, boundary: Boundary, mode: string) => void;

export function aimFault(sandbox: Sandbox, { what, name, nth }: Boundary, mode: string): void {
  setFault(sandbox.cloudFile, { call: what, mode, name, skip: nth - 1 });
}

const reachDeadlineMs = 180_000;

/** How a run is brought to a boundary. */
interface Reaching {
  /** What a call before which it stands still does. */
  readonly how?: "hang" | "late";
  readonly aim?: Aiming;
}

/**
 * Runs a command up to a boundary and leaves it hanging there. Throws when it never gets there: then
 * the run is not the one that was recorded.
 */
export async function startUpTo(
  sandbox: Sandbox,
  boundary: Boundary,
  start: () => Command,
  { how = "hang", aim = aimFault }: Reaching = {},
): Promise<Command> {
  const isReached =
    boundary.kind === "call" ? holdCall(sandbox, boundary, { how, aim }) : hold(sandbox, boundary);
  const command = start();
  await until(
    `the run to come to ${boundaryText(boundary)}`,
    () => {
      const reached = isReached();
      if (!reached && command.hasEnded) {
        throw new BoundaryMissed(boundary, command.said);
      }
      return reached;
    },
    patient(reachDeadlineMs),
  );
  return command;
}

function holdCall(
  sandbox: Sandbox,
  boundary: Boundary,
  { how, aim }: Required<Reaching>,
): () => boolean {
  const mode = boundary.side === "before" ? how : "hangAfter";
  const begin = sandbox.ledgerEnd();
  aim(sandbox, boundary, mode);
  return () =>
    sandbox
      .ledger(begin)
      .some(({ call, fault }) => call === boundary.what && fault?.startsWith(mode) === true);
}

/** Whoever is killed there leaves a write that nobody waits for: the server then drops it. */
function hold(sandbox: Sandbox, { side, what, name, nth }: Boundary): () => boolean {
  if (what === "replace") {
    const writes = watchState(sandbox);
    return () => {
      if (writes === undefined || writes.count < nth) return false;
      writes.close();
      return true;
    };
  }
  const write = bucketOf(sandbox).hold({ side, what: what as WriteKind, name: name ?? "", nth });
  return () => write.isReached;
}

/** Watches the file of a sandbox's one stack; undefined before there is one. */
export function watchState({ state }: Sandbox): FileWrites | undefined {
  const folder = join(state, "pulumi", ".pulumi", "stacks", "capstan");
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const file = files.find((name) => name.endsWith(".json"));
  return file === undefined ? undefined : FileWrites.watch(join(folder, file));
}

/** The bucket that a sandbox keeps its stacks in. */
export function bucketOf({ options }: Sandbox): Bucket {
  if (options.backend instanceof S3Backend) return options.backend.bucket;
  throw new Error("only writes to an S3 backend can be held back");
}
