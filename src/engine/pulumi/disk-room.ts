import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { CapstanError } from "../../api/error.js";
import { storageFailureOf, storageError, toldAsStorage } from "../../api/storage-failure.js";
import { fileBackendRoot, projectName } from "../backend/project.js";
import { prunePulumiHistory } from "../backend/pulumi-history.js";
import type { Workspace } from "../backend/workspace.js";

/**
 * How often the state is on the disk at once while an engine writes it, beside where it is already: the
 * new one, the old one as `.bak`, and at the end the copies in Pulumi's history and in its backups.
 * Source: https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/backend/diy/state.go
 */
const copiesOfState = 4;

/** What a resource takes in a state: inputs, outputs and dependencies of a host with its user data. */
const bytesPerResource = 8 * 1024;

/** Pulumi's locks and project files, the write-ahead logs of our own databases, rounding to blocks. */
const besidesBytes = 256 * 1024;

/** How much an engine run can write. Pure. */
export function bytesOfRun(stateBytes: number, creations: number): number {
  return copiesOfState * (stateBytes + creations * bytesPerResource) + besidesBytes;
}

/** What is wanted of a disk before an engine runs. */
export interface RoomDemand {
  /** Resources that the transaction still makes. */
  readonly creations: number;
  /**
   * "keep": as much again has to be left for the way back. "spend": this is the way back, or a look at
   * what there is, for which that was kept.
   */
  readonly reserve: "keep" | "spend";
}

/**
 * Throws NO_SPACE where not even a lock and a stack's settings could be written. What a stack's own
 * state needs is another question, for `Room`.
 */
export function refuseFullDisk({ stateDir }: Pick<Workspace, "stateDir">, stack: string): void {
  if (!existsSync(stateDir) || freeBytes(stateDir) >= besidesBytes) return;
  throw noSpace(stack, stateDir, besidesBytes);
}

const watchEveryMs = 50;

/** The disk under a stack's state, for the time of one command's work on it. */
export class Room {
  /** A file without a name that takes room: it goes with this process, however that ends. */
  private ballast: number | undefined;
  private watch: NodeJS.Timeout | undefined;
  private wasShort = false;

  constructor(
    private readonly workspace: Workspace,
    private readonly stack: string,
  ) {}

  /**
   * Makes sure that an engine can write the state, and keeps room for the way back. Older copies in
   * Pulumi's history make room first. Throws NO_SPACE naming folder, free and needed bytes, and
   * NOT_WRITABLE. Does nothing where the state is not in files.
   */
  async demand(wanted: RoomDemand): Promise<void> {
    const { workspace, stack } = this;
    const root = this.folder();
    if (root === undefined) return;
    refuseUnwritable(workspace, stack);
    this.wasShort = false;
    const runBytes = bytesOfRun(this.stateBytes(), wanted.creations);
    const missing = () => runBytes + (this.mayTake(wanted) ? runBytes : 0) - freeBytes(root);
    if (missing() > 0) await prunePulumiHistory(workspace, stack, 1);
    if (missing() > 0 && wanted.reserve === "spend") this.giveUp();
    const short = missing();
    if (short > 0) throw noSpace(stack, root, freeBytes(root) + short);
    if (this.mayTake(wanted)) this.take(root, runBytes);
  }

  private mayTake({ reserve }: RoomDemand): boolean {
    return reserve === "keep" && this.ballast === undefined;
  }

  /** While an engine runs: what was kept is freed as soon as it is needed, so that its next write succeeds. */
  async during<T>(run: () => Promise<T>): Promise<T> {
    const root = this.folder();
    if (root === undefined) return run();
    this.watch = setInterval(() => this.look(root), watchEveryMs);
    this.watch.unref();
    try {
      return await run();
    } finally {
      this.look(root);
      clearInterval(this.watch);
    }
  }

  /** NO_SPACE when the disk was too full during the last run for the state to be written. */
  shortage(): CapstanError | undefined {
    const root = this.folder();
    if (root === undefined || !this.wasShort) return undefined;
    return noSpace(this.stack, root, 2 * bytesOfRun(this.stateBytes(), 0));
  }

  /** Leaves no file behind. Idempotent. */
  giveUp(): void {
    if (this.ballast === undefined) return;
    closeSync(this.ballast);
    this.ballast = undefined;
  }

  private look(root: string): void {
    if (freeBytes(root) >= 2 * this.stateBytes() + bytesPerResource) return;
    this.wasShort = true;
    this.giveUp();
  }

  private take(root: string, bytes: number): void {
    const path = join(root, `${this.stack}.${process.pid}.room`);
    try {
      const file = openSync(path, "w", 0o600);
      this.ballast = file;
      rmSync(path);
      for (let left = bytes; left > 0; left -= filling.length) writeSync(file, filling);
    } catch (error) {
      this.giveUp();
      if (storageFailureOf(error) === "full") throw noSpace(this.stack, root, bytes);
      throw toldAsStorage(error, root);
    }
  }

  private folder(): string | undefined {
    const root = fileBackendRoot(this.workspace.backendUrl);
    return root === undefined || !existsSync(root) ? undefined : root;
  }

  private stateBytes(): number {
    const file = this.workspace.checkpointFile(this.stack);
    return file === undefined ? 0 : (statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  }
}

/** Nothing that a file system could shrink. */
const filling = Buffer.from(
  Uint8Array.from({ length: 64 * 1024 }, (_, index) => (index * index * 2_654_435_761) >>> 13),
);

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/**
 * Pulumi finds out by trying ten times, for minutes, that it cannot replace a state. The mode of the file
 * itself is no reason: it is replaced, not written. An immutable one is, and so is a folder. Throws
 * NOT_WRITABLE.
 */
function refuseUnwritable(workspace: Workspace, stack: string): void {
  const root = fileBackendRoot(workspace.backendUrl) ?? "";
  const file = workspace.checkpointFile(stack) ?? "";
  const pulumi = join(root, ".pulumi");
  const folders = [
    dirname(file),
    join(pulumi, "locks", "organization", projectName, stack),
    join(pulumi, "history", projectName, stack),
    join(pulumi, "backups", projectName, stack),
  ];
  for (const folder of folders) refuseIf(nearest(folder), ["EACCES", "EPERM", "EROFS"]);
  if (existsSync(file)) refuseIf(file, ["EPERM", "EROFS"]);
}

function refuseIf(path: string, codes: readonly string[]): void {
  try {
    accessSync(path, constants.W_OK);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (codes.includes(code)) throw storageError("refused", path, error);
  }
}

/** The folder, or the nearest one above it that there is. */
function nearest(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearest(dirname(folder));
}

function noSpace(stack: string, folder: string, neededBytes: number): CapstanError {
  return new CapstanError({
    code: "NO_SPACE",
    source: "engine",
    subject: folder,
    message: `cannot go on with ${stack}: ${folder} has ${bytesText(freeBytes(folder))} free, and ${bytesText(neededBytes)} are needed to record what is done and to take it back`,
    hint: "free some room there; the same command then goes on",
    retryable: true,
  });
}

/** "412 KiB (421888 bytes)". */
function bytesText(bytes: number): string {
  return `${Math.floor(bytes / 1024)} KiB (${bytes} bytes)`;
}
