import { existsSync, type FSWatcher, statSync, watch } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../provider/port.js";
import type { FileSource } from "./file-source.js";

interface FollowOptions {
  /** As users name them: files, folders, patterns. */
  readonly paths: readonly string[];
  readonly clock: Clock;
  /** Milliseconds between two looks that nothing has called for. */
  readonly periodMs: number;
}

/** Between two reads that have to show the same: longer than an editor or a copy pauses. */
const settleMs = 250;

/**
 * Keeps a source up to date with its files until the signal: each period, and at once when the file
 * system tells of a change. That is a hint and no more: not every file system tells.
 */
export async function followFiles(
  source: Pick<FileSource, "refresh">,
  { paths, clock, periodMs }: FollowOptions,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    // Before the look, so that a change after it is heard of; anew each time, since folders are replaced.
    const ears = new Ears(paths);
    try {
      const isUnsettled = source.refresh() === "unsettled";
      // Two reads too close to one another prove nothing: hints do not shorten that wait.
      const wake = isUnsettled ? signal : AbortSignal.any([signal, ears.heard]);
      await clock.sleep(isUnsettled ? settleMs : periodMs, wake).catch(() => undefined);
    } finally {
      ears.close();
    }
  }
}

/** Hears of one change of files, once. */
class Ears {
  private readonly once = new AbortController();
  private readonly watchers: FSWatcher[] = [];

  constructor(paths: readonly string[]) {
    for (const folder of new Set(paths.map(folderOf))) this.listen(folder);
  }

  get heard(): AbortSignal {
    return this.once.signal;
  }

  close(): void {
    for (const watcher of this.watchers) watcher.close();
  }

  private listen(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.once.abort());
      watcher.on("error", () => watcher.close());
      this.watchers.push(watcher);
    } catch {
      // It is not there, or there are no watches left: the period has to do.
    }
  }
}

/** Where changes of a path show: editors replace files, so that a file's folder is watched. */
function folderOf(path: string): string {
  if (existsSync(path)) return statSync(path).isDirectory() ? path : dirname(path);
  const parent = dirname(path);
  return parent === path ? path : folderOf(parent);
}
