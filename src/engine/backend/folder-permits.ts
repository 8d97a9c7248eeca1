import { lstatSync, rmSync, symlinkSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { toldAsStorage } from "../../api/storage-failure.js";
import type { StorePermits } from "./backend-permits.js";
import { makeFolder, replaceFile } from "./durable-files.js";
import { fileKey } from "./object-keys.js";

/** Where Pulumi keeps everything in a file backend. */
const pulumiFolder = ".pulumi";

/** How long what was withdrawn keeps its place, milliseconds: an engine that wakes later finds nothing, and makes a folder of its own. */
const keptWithdrawnMs = 24 * 60 * 60_000;

/** What a system says where links cannot be made: the file system has none, or the user may not. */
const withoutLinks: ReadonlySet<string | undefined> = new Set(["EPERM", "ENOTSUP", "ENOSYS"]);

/**
 * Permits of a file backend. Each is a folder with a link to Pulumi's own folder, and its engines work through that link. To withdraw
 * a permit is to put a plain file in the link's place: the next name that its engines open is no folder any more, and their locks,
 * states and temporary files all fail. Where the file system has no links, a permit is a folder that its command looks for.
 */
export class FolderPermits implements StorePermits {
  constructor(
    private readonly root: string,
    /** Before each key of the backend; "" as a rule. */
    private readonly prefix: string,
  ) {}

  async grant(permit: string, url: string): Promise<string> {
    const folder = this.folderOf(permit);
    try {
      // A root that is missing may be a disk that is not mounted.
      await stat(this.root);
      const target = join(this.root, this.linkName);
      makeFolder(target, 0o777);
      makeFolder(folder);
      symlinkSync(relative(folder, target), join(folder, this.linkName));
    } catch (error) {
      if (withoutLinks.has((error as NodeJS.ErrnoException).code)) return url;
      throw toldAsStorage(error, folder);
    }
    const query = url.indexOf("?");
    return `${pathToFileURL(folder).href}${query < 0 ? "" : url.slice(query)}`;
  }

  async isGranted(permit: string): Promise<boolean> {
    const folder = this.folderOf(permit);
    if (lstatSync(folder, { throwIfNoEntry: false }) === undefined) return false;
    const link = lstatSync(join(folder, this.linkName), { throwIfNoEntry: false });
    return link === undefined || link.isSymbolicLink();
  }

  async withdraw(permit: string): Promise<void> {
    const folder = this.folderOf(permit);
    const path = join(folder, this.linkName);
    const now = lstatSync(path, { throwIfNoEntry: false });
    try {
      if (now?.isSymbolicLink() === true) replaceFile(path, "This permit was withdrawn.\n");
      else if (now === undefined || Date.now() - now.mtimeMs > keptWithdrawnMs) removeAll(folder);
    } catch (error) {
      throw toldAsStorage(error, path);
    }
  }

  async forget(permit: string): Promise<void> {
    removeAll(this.folderOf(permit));
  }

  async list(folder: string): Promise<string[]> {
    const path = this.folderOf(folder);
    try {
      return await readdir(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw toldAsStorage(error, path);
    }
  }

  private folderOf(permit: string): string {
    return join(this.root, fileKey(permit));
  }

  /** The first part of what all keys of Pulumi's begin with. */
  private get linkName(): string {
    return fileKey(`${this.prefix}${pulumiFolder}`).split("/")[0] ?? pulumiFolder;
  }
}

/** With the link in it, and not what that leads to. */
function removeAll(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}
