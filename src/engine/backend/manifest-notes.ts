import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { toldAsStorage } from "../../api/storage-failure.js";
import { makeFolder, removeFile, replaceFile } from "./durable-files.js";

/** By stack name: absolute paths of manifests, and options that can rename a cluster. */
export type ManifestsByStack = Readonly<Record<string, readonly string[]>>;

const ending = ".json";

/**
 * Which manifests each stack was last changed from. A stack's note is a file of its own: commands for several stacks
 * write at the same time, each under the lock of its own stack alone, and a note that another command
 * took back would let `--prune` take down a cluster that has moved elsewhere.
 */
export class ManifestNotes {
  constructor(private readonly folder: string) {}

  read(): ManifestsByStack {
    const names = existsSync(this.folder) ? readdirSync(this.folder) : [];
    const stacks = names
      .filter((name) => name.endsWith(ending))
      .map((name) => name.slice(0, -ending.length));
    const notes = stacks.map((stack) => [stack, this.of(stack)]);
    // One that another command has removed since is none.
    return Object.fromEntries(notes.filter(([, from]) => from !== undefined)) as ManifestsByStack;
  }

  /** Undefined: nothing is noted of it. */
  of(stack: string): readonly string[] | undefined {
    try {
      return JSON.parse(readFileSync(this.fileOf(stack), "utf8")) as readonly string[];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Throws NO_SPACE, NOT_WRITABLE. */
  write(stack: string, from: readonly string[]): void {
    this.change(stack, (file) => {
      makeFolder(this.folder);
      replaceFile(file, `${JSON.stringify(from, null, 2)}\n`);
    });
  }

  /** Throws NO_SPACE, NOT_WRITABLE. */
  remove(stack: string): void {
    this.change(stack, removeFile);
  }

  private change(stack: string, write: (file: string) => void): void {
    const file = this.fileOf(stack);
    try {
      write(file);
    } catch (error) {
      throw toldAsStorage(error, file);
    }
  }

  private fileOf(stack: string): string {
    return join(this.folder, `${stack}${ending}`);
  }
}
