import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";

/** Counts how often a file is replaced, as a file backend does with each state that it writes. */
export class FileWrites {
  private seen = 0;

  private constructor(private readonly watcher: FSWatcher) {}

  /** Watches from now on. The file's folder must exist. */
  static watch(file: string): FileWrites {
    const watcher = watch(dirname(file));
    const writes = new FileWrites(watcher);
    watcher.on("change", (event, name) => {
      if (event === "rename" && name === basename(file)) writes.seen += 1;
    });
    return writes;
  }

  get count(): number {
    return this.seen;
  }

  close(): void {
    this.watcher.close();
  }
}
