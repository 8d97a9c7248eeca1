import { randomUUID } from "node:crypto";
import { readdir, readFile, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { toldAsStorage } from "../../api/storage-failure.js";
import { makeFolder, replaceFile } from "./durable-files.js";
import { FolderPermits } from "./folder-permits.js";
import { fileKey, unescapedKey } from "./object-keys.js";

/**
 * The ending of what go-cloud keeps beside an object. It passes over each file with it, so what we have half
 * written never stands in Pulumi's way, as a `.tmp` file among its locks does. Source:
 * https://github.com/google/go-cloud/blob/b5401c07b5f1/blob/fileblob/fileblob.go, ListPaged.
 */
const besideEnding = ".attrs";

/**
 * The objects of a file backend: each is a file under the root that is called like its key. Folders that it
 * makes have mode 0700, files 0600. Errors of the system come as NO_SPACE or NOT_WRITABLE.
 */
export class FolderObjects {
  readonly advice =
    "make the folder readable and writable for this user; the same command then goes on";

  readonly permits: FolderPermits;

  constructor(
    private readonly root: string,
    prefix = "",
  ) {
    this.permits = new FolderPermits(root, prefix);
  }

  async list(folder: string): Promise<string[]> {
    const path = this.pathOf(folder);
    const found = await ifThere(() => readdir(path, { withFileTypes: true }));
    return (found ?? [])
      .filter((file) => !file.isDirectory() && !file.name.endsWith(besideEnding))
      .map(({ name }) => `${folder}/${unescapedKey(name)}`);
  }

  async read(key: string): Promise<string | undefined> {
    return ifThere(() => readFile(this.pathOf(key), "utf8"));
  }

  /** The root has to be there, as for Pulumi: one that is missing may be a disk that is not mounted. */
  async write(key: string, text: string): Promise<void> {
    const path = this.pathOf(key);
    try {
      await stat(this.root);
      makeFolder(dirname(path));
      replaceFile(path, text, { unfinished: `${randomUUID()}${besideEnding}` });
    } catch (error) {
      throw toldAsStorage(error, path);
    }
  }

  async remove(key: string): Promise<void> {
    const path = this.pathOf(key);
    for (const one of [path, `${path}${besideEnding}`]) await ifThere(() => unlink(one));
  }

  async close(): Promise<void> {
    // Nothing stays open between two calls.
  }

  private pathOf(key: string): string {
    return join(this.root, fileKey(key));
  }
}

/** What a system says of a path that leads nowhere, or to a folder instead of a file. */
const nowhere: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "EISDIR"]);

async function ifThere<T>(use: () => Promise<T>): Promise<T | undefined> {
  try {
    return await use();
  } catch (error) {
    if (nowhere.has((error as NodeJS.ErrnoException).code)) return undefined;
    throw toldAsStorage(error);
  }
}
