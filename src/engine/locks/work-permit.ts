import { CapstanError, isCapstanError } from "../../api/error.js";
import type { Clock } from "../../provider/port.js";
import type { Workspace } from "../backend/workspace.js";

// A command's permit to work on a stack. A command or an engine that was frozen may go on long after another one has taken its
// place: the permit is withdrawn before, and engines write states through it alone (docs/adr/0058).

type PermittedWorkspace = Pick<Workspace, "objects" | "projectName" | "stackName">;

/** One command's permit. */
export interface WorkPermit {
  /** Where the command's engines find the backend: as `backendUrl` does, until the permit is withdrawn. */
  readonly backendUrl: string;
  /** Whether it is not withdrawn. Throws BAD_STATE when the backend does not answer. */
  isHeld(): Promise<boolean>;
  /** Throws LOCKED once it is withdrawn, and what `isHeld` does. An answer counts for a second. */
  assertHeld(): Promise<void>;
  /** Once no engine of the command runs any more. What stays where this fails permits nothing to anybody. */
  end(): Promise<void>;
}

/** How long an answer that the permit is held counts, milliseconds. */
const freshMs = 1_000;

/**
 * Grants a command a permit under an id. Undefined in backends that only Pulumi can read. Throws BAD_STATE, NO_SPACE or
 * NOT_WRITABLE when the backend takes none.
 */
export async function grantWork(
  workspace: PermittedWorkspace,
  stack: string,
  { id, clock }: { readonly id: string; readonly clock: Clock },
): Promise<WorkPermit | undefined> {
  const { objects } = workspace;
  if (objects === undefined) return undefined;
  const permit = `${folderOf(workspace, stack)}/${id}`;
  const backendUrl = await objects.permits.grant(permit);
  // A connection that has broken since it was last used is no answer: the second try makes another one.
  const isHeld = () =>
    objects.permits.isGranted(permit).catch((error: unknown) => {
      if (!isCapstanError(error) || !error.retryable) throw error;
      return objects.permits.isGranted(permit);
    });
  let askedAtMs = clock.now();
  return {
    backendUrl,
    isHeld,
    assertHeld: async () => {
      const ageMs = clock.now() - askedAtMs;
      // A process that was frozen, or whose clock was set, asks anew.
      if (ageMs >= 0 && ageMs < freshMs) return;
      const nowMs = clock.now();
      if (!(await isHeld())) throw placeTaken(stack);
      askedAtMs = nowMs;
    },
    end: () => objects.permits.forget(permit).catch(() => undefined),
  };
}

/** Ends the permits of commands whose place this one takes, by their ids: their engines record nothing any more. */
export async function withdrawWork(
  workspace: PermittedWorkspace,
  stack: string,
  ids: readonly string[],
): Promise<void> {
  const { objects } = workspace;
  for (const id of ids) await objects?.permits.withdraw(`${folderOf(workspace, stack)}/${id}`);
}

/** Ids of all permits on a stack, also of those that were withdrawn. */
export async function permitsOn(
  workspace: PermittedWorkspace,
  stack: string,
): Promise<readonly string[]> {
  const { objects } = workspace;
  return (await objects?.permits.list(folderOf(workspace, stack))) ?? [];
}

function folderOf(workspace: PermittedWorkspace, stack: string): string {
  return `.capstan/permits/${workspace.projectName}/${workspace.stackName(stack)}`;
}

/** LOCKED: another command, or a person, has taken a command's place. */
export function placeTaken(stack: string): CapstanError {
  return new CapstanError({
    code: "LOCKED",
    source: "user",
    subject: stack,
    message: `cannot change ${stack}: it was unlocked, or another command took this one's place, while this one stood still`,
    hint: "wait until the other command has ended; the same command then goes on from what is there",
    retryable: true,
  });
}
