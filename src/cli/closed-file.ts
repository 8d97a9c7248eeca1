import { CapstanError, messageOf } from "../api/error.js";
import type { LeavingText } from "../api/leaving-text.js";
import { replaceFile } from "../engine/backend/durable-files.js";

/**
 * Writes a file that only its owner reads, whole or not at all, in the place of one that is there. Throws
 * BAD_USAGE where that cannot be; `what` names it: "the plan".
 */
export function writeClosedFile(path: string, text: LeavingText, what: string): void {
  try {
    replaceFile(path, text);
  } catch (error) {
    throw new CapstanError({
      code: "BAD_USAGE",
      source: "user",
      message: `cannot save ${what} to ${path}: ${messageOf(error)}`,
      hint: "name a file in a folder that exists and can be written",
      cause: error,
    });
  }
}
