import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { toldAsStorage } from "../../api/storage-failure.js";
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

  constructor(private readonly root: string) {}

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
      await makeFolder(dirname(path));
      await replaceFile(path, text);
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

/** A new folder is there after a power failure only once the one above it is written. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) {
    await syncFolder(dirname(made));
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  const fresh = `${path}.${randomUUID()}${besideEnding}`;
  try {
    const file = await open(fresh, "wx", 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(fresh, path);
  } catch (error) {
    // What there was room for takes room that others need.
    await rm(fresh, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
