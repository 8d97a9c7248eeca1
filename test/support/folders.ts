import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Removes a folder, if it is there; waits for what a program that was ended a moment ago still writes there. */
export function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
}

/**
 * Takes a folder away from programs that run in it: whole and at once, as a disk is lost. Removing it where it is
 * can fail, as a program makes a file in it in the meantime.
 */
export function loseFolder(path: string): void {
  const grave = mkdtempSync(join(tmpdir(), "capstan-lost-"));
  renameSync(path, join(grave, "folder"));
  removeFolder(grave);
}
