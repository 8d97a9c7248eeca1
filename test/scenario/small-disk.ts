import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeFolder } from "../support/folders.js";

const chunk = Buffer.alloc(64 * 1024, "x");

/**
 * A file system of its own in memory, small enough to be full at will. Mounting takes root; for anybody
 * else it is mounted in a namespace of its own, and reached through the process that keeps that one.
 */
export class SmallDisk {
  private readonly ballast: string;
  private refilling: NodeJS.Timeout | undefined;

  private constructor(
    readonly folder: string,
    private readonly unmount: () => void,
  ) {
    this.ballast = join(folder, "somebody-elses-file");
  }

  static async make(mebibytes: number): Promise<SmallDisk> {
    const place = mkdtempSync(join(tmpdir(), "capstan-disk-"));
    const remove = () => removeFolder(place);
    const mount = ["mount", "-t", "tmpfs", "-o", `size=${mebibytes}m`, "capstan-test", place];
    if (process.getuid?.() === 0) {
      execFileSync("sh", ["-c", mount.join(" ")]);
      return new SmallDisk(place, () => {
        execFileSync("umount", ["-l", place]);
        remove();
      });
    }
    const script = `${mount.join(" ")} && echo mounted && exec sleep infinity`;
    const keeper = spawn("unshare", ["--user", "--map-root-user", "--mount", "sh", "-c", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [said] = (await Promise.race([
      once(keeper.stdout, "data"),
      once(keeper, "close"),
    ])) as unknown[];
    assert.match(String(said), /mounted/, "a file system can be mounted in a namespace of a user");
    return new SmallDisk(`/proc/${keeper.pid}/root${place}`, () => {
      keeper.kill("SIGKILL");
      remove();
    });
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.folder);
    return bavail * bsize;
  }

  /** Somebody else writes until no more than this many bytes are free. */
  fillTo(freeBytes: number): void {
    const file = openSync(this.ballast, "a");
    try {
      for (let over = this.freeBytes - freeBytes; over > 0; over = this.freeBytes - freeBytes) {
        writeSync(file, chunk, 0, Math.min(over, chunk.length));
      }
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
    } finally {
      closeSync(file);
    }
  }

  /** The same, again and again: what anybody else frees is taken, too. */
  keepFilledTo(freeBytes: number): void {
    this.fillTo(freeBytes);
    this.refilling = setInterval(() => this.fillTo(freeBytes), 2);
  }

  /** Everything that somebody else wrote is gone. */
  release(): void {
    clearInterval(this.refilling);
    rmSync(this.ballast, { force: true });
  }

  close(): void {
    this.release();
    this.unmount();
  }
}
