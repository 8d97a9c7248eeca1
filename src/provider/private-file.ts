import { chmodSync, closeSync, existsSync, openSync, statSync } from "node:fs";

/**
 * Gives a file of the state folder mode 0600, and makes an empty one where there is none: state folders hold addresses,
 * user data and command lines. A file of another user keeps its mode. SQLite gives the files beside a database the same mode.
 * Throws what the system does.
 */
export function keepPrivate(path: string): void {
  if (!existsSync(path)) {
    closeSync(openSync(path, "a", 0o600));
    return;
  }
  const { mode, uid } = statSync(path);
  if ((mode & 0o077) !== 0 && uid === process.getuid?.()) chmodSync(path, 0o600);
}
