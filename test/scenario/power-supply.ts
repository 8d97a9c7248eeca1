import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "./command.js";
import { changesIn, notingFileChanges } from "./file-changes.js";
import { killAll } from "./process-tree.js";
import type { Sandbox } from "./sandbox.js";
import { until } from "./until.js";
import { type Contents, type DiskNode, VolatileDisk } from "./volatile-disk.js";
import { removeFolder } from "../support/folders.js";

/**
 * What a disk still has of what was not synced when the power failed. synced: nothing. names: of each name that was given or
 * taken, but no data, as where a journal holds names alone. some: of each file and each folder, as it is drawn.
 */
export type Lasting = "synced" | "names" | "some";

/** The state folder of a sandbox. The cloud, which is in a file of it, is somebody else's and loses no power. */
const losesPower = /^state($|\/(?!local-cloud\.db))/;

/** SQLite maps it into memory and makes it anew after a restart: nobody hears of what is written there. */
const unheard = "-shm";

/** The power of the machine that commands of a sandbox run on. */
export class PowerSupply {
  private readonly folder: string;
  private readonly log: string;
  private readonly disk: VolatileDisk;

  /** From now on commands have to be run by its `runner`. */
  constructor(
    { folder }: Sandbox,
    /** Answers a number from 0 to below 1, the same for the same text. */
    private readonly draw: (text: string) => number,
  ) {
    this.folder = folder;
    this.log = join(folder, "file-changes.log");
    this.disk = VolatileDisk.holding(folder, (path) => losesPower.test(path));
  }

  get runner(): string[] {
    return notingFileChanges(this.log);
  }

  /** Ends a command in this instant, and leaves of the folder what a disk has after a power failure. */
  async fail(command: Command, lasting: Lasting, share?: number): Promise<void> {
    // What notes the changes ends by itself behind all others, so that it has heard of all.
    await until("everything ends", () => {
      if (!command.hasEnded) killAll(command.descendants);
      return command.hasEnded;
    });
    await command.finished;
    this.lose(lasting, share);
  }

  /** The same once nothing runs any more; `share`: as if it had been after that part of all changes. */
  lose(lasting: Lasting, share = 1): void {
    const { changes, unended } = changesIn(readFileSync(this.log, "utf8"), this.folder);
    const made = Math.round(changes.length * share);
    for (const change of changes.slice(0, made)) this.disk.apply(change);
    const left = this.disk.afterPowerLoss((node, path) => this.lasts(node, path, lasting));
    for (const change of changes.slice(made)) this.disk.apply(change);
    this.mustKnow(unended);
    this.replace(left);
    rmSync(this.log);
  }

  private lasts({ kind }: DiskNode, path: string, lasting: Lasting): boolean {
    switch (lasting) {
      case "synced":
        return false;
      case "names":
        return kind === "folder";
      case "some":
        return this.draw(path) < 0.5;
    }
  }

  /** Whoever has missed a change would lose too much, or too little. */
  private mustKnow(unended: ReadonlySet<string>): void {
    const isKnown = (path: string) =>
      !path.endsWith(unheard) && !unended.has(join(this.folder, path));
    const [noted, found] = [this.disk.contents, this.found];
    const differing = [...new Set([...noted.keys(), ...found.keys()])]
      .filter(isKnown)
      .filter((path) => textOf(noted, path) !== textOf(found, path));
    assert.deepEqual(differing, [], "every change was noted");
  }

  /** What programs see now. */
  private get found(): Contents {
    return VolatileDisk.holding(this.folder, (path) => losesPower.test(path)).contents;
  }

  /** A folder that has been lost stays where the cloud is in it. */
  private replace(left: Contents): void {
    for (const [path, { data, target }] of this.found) {
      const isFolder = data === undefined && target === undefined;
      if (!isFolder || (path !== "state" && !left.has(path))) {
        removeFolder(join(this.folder, path));
      }
    }
    for (const [path, { data, target, mtimeMs }] of left) {
      const file = join(this.folder, path);
      const isFolder = data === undefined && target === undefined;
      mkdirSync(isFolder ? file : dirname(file), { recursive: true, mode: 0o700 });
      if (target !== undefined) symlinkSync(target, file);
      if (data === undefined) continue;
      writeFileSync(file, data, { mode: 0o600 });
      utimesSync(file, mtimeMs / 1000, mtimeMs / 1000);
    }
  }
}

/** What a name stands for; none for what is not there. */
function textOf(contents: Contents, path: string): string {
  const found = contents.get(path);
  if (found === undefined) return "none";
  if (found.target !== undefined) return `link ${found.target}`;
  return found.data === undefined ? "folder" : `file ${found.data.toString("latin1")}`;
}
