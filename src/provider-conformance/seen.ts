import { type CapstanError, isCapstanError, messageOf } from "../api/error.js";

/** The error of a promise that must not succeed; undefined when it does. */
export async function errorOf(work: Promise<unknown>): Promise<Error | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** The code of an error of ours, also inside one that tells of an unfinished resource. */
export function codeOf(error: unknown): CapstanError["code"] | undefined {
  if (isCapstanError(error)) return error.code;
  return error instanceof Error && error.cause !== undefined ? codeOf(error.cause) : undefined;
}

/** What happened instead, for a failure's message. */
export function seenOf(error: unknown): string {
  return error === undefined
    ? "it succeeded"
    : `${codeOf(error) ?? "an error"} (${messageOf(error)})`;
}
