import { isCapstanError } from "../../../src/api/error.js";
import { fileOwner, openHandOver } from "../../../src/records/hand-over.js";
import type { Counterpart } from "./counterparts.js";
import type { InstallerCourse } from "./installer-course.js";
import type { InstalledCluster } from "./installer-world.js";

/** What the commands failed with, if they did. Whatever is no failure of a command is thrown on. */
export async function failureOf(commands: () => Promise<void>): Promise<Error | undefined> {
  try {
    await commands();
    return undefined;
  } catch (error) {
    if (isCapstanError(error) || error instanceof CommandFailed) return error;
    throw error;
  }
}

/** A command has ended otherwise than it was to, by what `cause` says. */
export class CommandFailed extends Error {}

/**
 * The phase of the old installer in which the product has failed: that of a fault, if the product came as far as there
 * and no further; else the step that it came to, which is no phase.
 */
export function phaseOf(
  failure: Error | undefined,
  course: InstallerCourse,
  counterparts: readonly Counterpart[],
): string | null {
  if (failure === undefined) return null;
  const met = counterparts.find((one) => one.kind === "step" && course.endsAt(one.fault));
  return met === undefined ? `${course.furthest}: ${failure.message}` : met.phase;
}

/** What a failure has its origin in. */
export function rootOf(failure: unknown): unknown {
  return failure instanceof Error && failure.cause !== undefined ? rootOf(failure.cause) : failure;
}

/** Whether files may say what becomes of a cluster. */
export function isFree({ engine }: InstalledCluster): boolean {
  const { transaction } = engine.prior;
  if (transaction === undefined) return true;
  return transaction.owner === fileOwner && openHandOver(engine.prior) === undefined;
}

/** Throws an Error with all that is wrong. */
export function refuseWrong(wrong: readonly string[]): void {
  if (wrong.length > 0) throw new Error(wrong.join("; "));
}
