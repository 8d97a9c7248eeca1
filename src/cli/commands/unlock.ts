import { CapstanError } from "../../api/error.js";
import { type FoundLock, foundLocks, removeLocks } from "../../engine/locks/unlock.js";
import type { Workspace } from "../../engine/backend/workspace.js";
import { locksAreReadable } from "../../engine/locks/pulumi-locks.js";
import { unlockHint } from "../../engine/pulumi/engine-refusals.js";
import type { Liveness } from "../../engine/locks/process-identity.js";
import { confirm } from "../confirm.js";
import { type CommandContext, type GlobalOptions, openEngine } from "../context.js";
import { exitCodes } from "../exit.js";
import { nothingRecorded, stacksOf } from "./stacks.js";

export interface UnlockOptions extends GlobalOptions {
  readonly yes?: boolean;
}

/**
 * capstan unlock: shows who holds a stack's locks and what is known of them, asks, and removes those of whom nobody can
 * tell whether they live. Throws LOCKED when one lives.
 */
export async function unlockCommand(
  stackName: string,
  options: UnlockOptions,
  context: CommandContext,
): Promise<number> {
  const { terminal, json, emit, clock, suggest } = context;
  const { engine, workspace } = await openEngine(options, context);
  const [stack = stackName] = await stacksOf([stackName], { file: [] }, engine, context);
  const locked = { workspace, stack, nowMs: clock.now() };
  const found = await foundLocks(locked);
  if (found.length === 0 && !(await engine.stacks.list()).includes(stack)) {
    throw await nothingRecorded("unlock", stack, engine);
  }
  const told = found.map(({ by, holder, liveness }) => ({ by, holder, liveness }));
  const doubtful = found.filter(({ liveness }) => liveness === "unknown");
  if (!json) for (const lock of found) terminal.write(`${stack} is locked by ${lockLine(lock)}\n`);
  refuseLiving(stack, found);
  if (doubtful.length > 0) await confirm(question(stack, doubtful), options.yes === true, context);
  if (doubtful.length > 0) await removeLocks(doubtful, locked);
  const isComplete = locksAreReadable(workspace);
  if (json) emit({ type: "unlock", stack, locks: told, removed: doubtful.length, isComplete });
  else {
    terminal.write(`${suggest(outcomeLine(stack, found, { removed: doubtful, isComplete }))}\n`);
    if (!isComplete) terminal.write(`${blindLine(stack, workspace)}\n`);
  }
  return exitCodes.done;
}

const words: Readonly<Record<Liveness, string>> = {
  alive: "it lives",
  dead: "it has ended; the next command takes its place by itself",
  unknown: "nothing here can tell whether it lives",
};

function lockLine({ holder, liveness }: FoundLock): string {
  return `${holder}: ${words[liveness]}`;
}

function question(stack: string, locks: readonly FoundLock[]): string {
  const which = locks.length === 1 ? "this lock" : `these ${locks.length} locks`;
  return `Two who work on one stack lose machines. Has whoever holds ${which} of ${stack} ended for good?`;
}

function outcomeLine(
  stack: string,
  found: readonly FoundLock[],
  { removed, isComplete }: { readonly removed: readonly FoundLock[]; readonly isComplete: boolean },
): string {
  if (found.length === 0)
    return isComplete ? `${stack} is not locked` : `no command holds ${stack}`;
  if (removed.length === 0) return `nothing to unlock: any command goes on with ${stack}`;
  return `unlocked ${stack}; what was under way is settled by the next command\nNext: capstan status ${stack}`;
}

/** Nothing was looked for where nothing can be seen. */
function blindLine(stack: string, workspace: Workspace): string {
  return `Pulumi's own locks of ${stack} were not looked at: once whoever holds one has ended for good, ${unlockHint(stack, workspace)}`;
}

function refuseLiving(stack: string, found: readonly FoundLock[]): void {
  const living = found.find(({ liveness }) => liveness === "alive");
  if (living === undefined) return;
  throw new CapstanError({
    code: "LOCKED",
    source: "user",
    subject: stack,
    message: `cannot unlock ${stack}: it is locked by ${living.holder}, which lives`,
    hint: "wait until it has ended, or interrupt it; nothing was removed",
    retryable: true,
  });
}
