import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import type { FileChange, OpenFile } from "./file-changes.js";

interface FileNode {
  readonly kind: "file";
  data: Buffer;
  /** What of it is on the disk for good; nothing of a new one. */
  synced: Buffer;
  mtimeMs: number;
  /** Where the next write goes, by the number that it is open under. */
  readonly positions: Map<number, number>;
}

interface FolderNode {
  readonly kind: "folder";
  names: Map<string, DiskNode>;
  synced: ReadonlyMap<string, DiskNode>;
}

/** A symbolic link: it lasts as its name does. */
interface LinkNode {
  readonly kind: "link";
  /** Relative to the folder of the link, unless it is absolute. */
  readonly target: string;
}

export type DiskNode = FileNode | FolderNode | LinkNode;

/** What stands at a path: a file has data, a symbolic link a target, a folder neither. */
interface Content {
  readonly data?: Buffer;
  readonly target?: string;
  readonly mtimeMs: number;
}

/** What is in a folder, by paths relative to it. */
export type Contents = ReadonlyMap<string, Content>;

/**
 * A folder as a disk has it that loses what was not synced (POSIX, fsync): the data of a file lasts once the file is
 * synced, a name that was given, changed or taken once its folder is. Renames and the like take place whole.
 */
export class VolatileDisk {
  private constructor(
    private readonly folder: string,
    private readonly root: FolderNode,
    private readonly isWatched: (path: string) => boolean,
  ) {}

  /** Whatever is there now has been there for long. What is not watched, by paths relative to the folder, is no part of it. */
  static holding(folder: string, isWatched: (path: string) => boolean): VolatileDisk {
    return new VolatileDisk(folder, readFolder(folder, "", isWatched), isWatched);
  }

  apply(change: FileChange): void {
    switch (change.kind) {
      case "open":
        return this.open(change);
      case "write":
        return this.write(change.of, change.data, change);
      case "copy": {
        const source = this.fileAt(change.from.path);
        if (source === undefined) return;
        const { fd, at } = change.from;
        const begin = at ?? source.positions.get(fd) ?? 0;
        if (at === undefined) source.positions.set(fd, begin + change.bytes);
        const data = source.data.subarray(begin, begin + change.bytes);
        return this.write(change.of, data, { atMs: change.atMs });
      }
      case "resize": {
        const file = this.fileAt(change.path);
        if (file !== undefined)
          file.data = spliced(file.data.subarray(0, change.bytes), change.bytes);
        return;
      }
      case "rename": {
        const node = this.nodeAt(change.path);
        // Two names of one file: POSIX leaves both.
        if (node === undefined || node === this.nodeAt(change.to)) return;
        this.give(change.to, node);
        return this.take(change.path);
      }
      case "link": {
        const node = this.nodeAt(change.path);
        return node && this.give(change.to, node);
      }
      case "symlink":
        return this.give(change.path, { kind: "link", target: change.target });
      case "remove":
        return this.take(change.path);
      case "makeFolder":
        return this.give(change.path, newFolder());
      case "sync":
        return change.path === undefined ? syncAll(this.root) : sync(this.nodeAt(change.path));
    }
  }

  /** As programs see it. */
  get contents(): Contents {
    return contentsOf(this.root, () => true);
  }

  /** As it is after the power has failed. `keeps` says of what was not synced whether it lasts all the same. */
  afterPowerLoss(keeps: (node: DiskNode, path: string) => boolean): Contents {
    return contentsOf(this.root, keeps);
  }

  private open(change: Extract<FileChange, { kind: "open" }>): void {
    const { of, creates, truncates, appends, atMs } = change;
    const known = this.nodeAt(of.path);
    if (known?.kind === "folder" || known?.kind === "link") return;
    const file = known ?? newFile(atMs);
    if (known === undefined) {
      if (!creates) return;
      this.give(of.path, file);
    }
    if (truncates) file.data = Buffer.alloc(0);
    file.positions.set(of.fd, appends ? file.data.length : 0);
  }

  private write(
    { path, fd }: OpenFile,
    data: Buffer,
    { at, atMs }: { readonly at?: number; readonly atMs: number },
  ): void {
    const file = this.fileAt(path);
    if (file === undefined) return;
    const begin = at ?? file.positions.get(fd) ?? 0;
    file.data = spliced(file.data, begin, data);
    file.mtimeMs = atMs;
    if (at === undefined) file.positions.set(fd, begin + data.length);
  }

  /** Links on the way are followed; a link that the path itself names is not. */
  private nodeAt(path: string): DiskNode | undefined {
    const way = relative(this.folder, path).split(sep);
    if (way[0] === "..") return undefined;
    const names = way.filter((name) => name !== "");
    const [last] = names.slice(-1);
    if (last === undefined) return this.root;
    const parent = this.folderAt(join(this.folder, ...names.slice(0, -1)));
    return parent?.names.get(last);
  }

  private folderAt(path: string): FolderNode | undefined {
    const node = this.nodeAt(path);
    if (node?.kind === "link") return this.folderAt(resolve(dirname(path), node.target));
    return node?.kind === "folder" ? node : undefined;
  }

  private fileAt(path: string): FileNode | undefined {
    const node = this.nodeAt(path);
    return node?.kind === "file" ? node : undefined;
  }

  private give(path: string, node: DiskNode): void {
    if (!this.isWatched(relative(this.folder, path))) return;
    this.folderAt(dirname(path))?.names.set(basename(path), node);
  }

  private take(path: string): void {
    this.folderAt(dirname(path))?.names.delete(basename(path));
  }
}

function newFile(mtimeMs: number, data = Buffer.alloc(0)): FileNode {
  return { kind: "file", data, synced: data, mtimeMs, positions: new Map() };
}

function newFolder(): FolderNode {
  return { kind: "folder", names: new Map(), synced: new Map() };
}

function readFolder(
  root: string,
  folder: string,
  isWatched: (path: string) => boolean,
): FolderNode {
  const entries = readdirSync(join(root, folder), { withFileTypes: true });
  const names = new Map(
    entries.flatMap((entry): [string, DiskNode][] => {
      const path = join(folder, entry.name);
      if (!isWatched(path)) return [];
      if (entry.isDirectory()) return [[entry.name, readFolder(root, path, isWatched)]];
      const file = join(root, path);
      if (entry.isSymbolicLink()) {
        return [[entry.name, { kind: "link", target: readlinkSync(file) }]];
      }
      return [[entry.name, newFile(statSync(file).mtimeMs, readFileSync(file))]];
    }),
  );
  return { kind: "folder", names, synced: new Map(names) };
}

/** The old data with the new in its place, and zeros where nothing was written. */
function spliced(old: Buffer, at: number, data: Buffer = Buffer.alloc(0)): Buffer {
  const result = Buffer.alloc(Math.max(old.length, at + data.length));
  old.copy(result);
  data.copy(result, at);
  return result;
}

function sync(node: DiskNode | undefined): void {
  if (node?.kind === "file") node.synced = node.data;
  if (node?.kind === "folder") node.synced = new Map(node.names);
}

function syncAll(node: DiskNode): void {
  sync(node);
  if (node.kind === "folder") for (const one of node.names.values()) syncAll(one);
}

function contentsOf(root: FolderNode, keeps: (node: DiskNode, path: string) => boolean): Contents {
  const found = new Map<string, Content>();
  const walk = (folder: FolderNode, path: string) => {
    for (const [name, node] of keeps(folder, path) ? folder.names : folder.synced) {
      const where = join(path, name);
      switch (node.kind) {
        case "folder":
          found.set(where, { mtimeMs: 0 });
          walk(node, where);
          break;
        case "link":
          found.set(where, { target: node.target, mtimeMs: 0 });
          break;
        case "file":
          found.set(where, {
            data: keeps(node, where) ? node.data : node.synced,
            mtimeMs: node.mtimeMs,
          });
      }
    }
  };
  walk(root, "");
  return found;
}
