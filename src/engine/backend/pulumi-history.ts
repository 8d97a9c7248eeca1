import { readdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { fileBackendRoot, projectName } from "./project.js";
import type { Workspace } from "./workspace.js";

/** How many updates Pulumi's own history keeps: enough to look back, for a person with a question. */
const keptUpdates = 10;

/** The folders where a file backend copies the whole checkpoint at each update. */
const copyFolders = ["history", "backups"];

/**
 * "default.prod-1795271332681660919.checkpoint.json" and its .history.json, and in backups
 * "default.prod.1795271332683180905.json": nanoseconds since the epoch, perhaps compressed (.gz).
 */
const stampedName = /[-.](\d{16,20})\.(?:(?:history|checkpoint)\.)?json(?:\.gz)?(?:\.attrs)?$/;

/**
 * Removes what a file backend remembers of a stack's updates but for the newest `keep`, at least one.
 * Our history is the Revision (architecture section 7); Pulumi's grows by a checkpoint per pass and is
 * never pruned by itself. Another process may remove the same files at the same time; files of any other
 * name, and other kinds of backends, are left alone. Resolves with the number of files removed.
 */
export async function prunePulumiHistory(
  workspace: Pick<Workspace, "backendUrl">,
  stack: string,
  keep = keptUpdates,
): Promise<number> {
  const root = fileBackendRoot(workspace.backendUrl);
  if (root === undefined) return 0;
  const removed = copyFolders.map((folder) =>
    pruneFolder(join(root, ".pulumi", folder, projectName, stack), Math.max(keep, 1)),
  );
  return (await Promise.all(removed)).reduce((sum, count) => sum + count, 0);
}

async function pruneFolder(folder: string, keep: number): Promise<number> {
  const names = await readdir(folder).catch(whenMissing<string[]>([]));
  const kept = new Set(newestFirst(names.flatMap((name) => stampOf(name) ?? [])).slice(0, keep));
  const outdated = names.filter((name) => {
    const stamp = stampOf(name);
    return stamp !== undefined && !kept.has(stamp);
  });
  const removals = outdated.map((name) =>
    unlink(join(folder, name))
      .then(() => 1)
      .catch(whenMissing(0)),
  );
  return (await Promise.all(removals)).reduce((sum, count) => sum + count, 0);
}

function stampOf(name: string): string | undefined {
  return stampedName.exec(name)?.[1];
}

/** Stamps do not fit into a number exactly; as texts of one length they compare as they should. */
function newestFirst(stamps: readonly string[]): string[] {
  return [...new Set(stamps)].sort((left, right) => (left < right ? 1 : -1));
}

function whenMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return value;
    throw error;
  };
}
