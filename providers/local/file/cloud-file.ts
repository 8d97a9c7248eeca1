import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CapstanError, messageOf } from "../../../src/api/error.js";
import {
  type StorageFailure,
  storageFailureOf,
  storageWords,
} from "../../../src/api/storage-failure.js";
import { type Backoff, backoffMs } from "../../../src/provider/backoff.js";
import type { Clock } from "../../../src/provider/port.js";
import { keepPrivate } from "../../../src/provider/private-file.js";
import { cloudSchema, cloudSchemaUpgrades, cloudSchemaVersion } from "./tables.js";

/** How long a writer waits inside SQLite: it blocks the event loop, so the rest is waited outside. */
const busyTimeoutMs = 50;
const busyBackoff: Backoff = { firstMs: 2, factor: 2, maxMs: 50 };
const busyDeadlineMs = 20_000;

/** What a command does with a file: one that only reads does not make it. */
export type FileUse = "reads" | "changes";

/**
 * The local cloud's SQLite file: opened, and made, when it is first used; for who only reads, a file that
 * is not there is a cloud that holds nothing. Errors: CLOUD_CORRUPT, and
 * CLOUD_FAILED for a file that cannot be used now.
 */
export class CloudFile {
  private database: DatabaseSync | undefined;

  constructor(
    readonly path: string,
    private readonly clock: Clock,
    private readonly use: FileUse = "changes",
  ) {}

  /** Reads outside of any transaction. */
  async read<T>(work: (database: DatabaseSync) => T): Promise<T> {
    try {
      return work(await this.open());
    } catch (error) {
      throw this.asAnswer(error, "nothing");
    }
  }

  /** One short immediate transaction; while another process writes, waits without blocking. */
  async write<T>(work: (database: DatabaseSync) => T): Promise<T> {
    try {
      return await this.whenFree(async () => {
        const database = await this.open();
        database.exec("BEGIN IMMEDIATE");
        try {
          const result = work(database);
          database.exec("COMMIT");
          return result;
        } catch (error) {
          if (database.isTransaction) database.exec("ROLLBACK");
          throw error;
        }
      });
    } catch (error) {
      throw this.asAnswer(error, "perhaps");
    }
  }

  /** What a file that cannot be used is to whoever called the cloud: a failed call. */
  private asAnswer(error: unknown, tookEffect: "nothing" | "perhaps"): unknown {
    const failure = storageFailureOf(error);
    return failure === undefined ? error : unusable(this.path, failure, tookEffect, error);
  }

  close(): void {
    this.database?.close();
    this.database = undefined;
  }

  private async whenFree<T>(work: () => Promise<T>): Promise<T> {
    const deadline = this.clock.now() + busyDeadlineMs;
    for (let failures = 1; ; failures += 1) {
      try {
        return await work();
      } catch (error) {
        if (!isBusy(error) || this.clock.now() > deadline) throw error;
        await this.clock.sleep(backoffMs(busyBackoff, failures));
      }
    }
  }

  private async open(): Promise<DatabaseSync> {
    this.database ??= await this.whenFree(async () => this.openOrMake());
    return this.database;
  }

  /** Whether it is there, or made when it is used. */
  get mayBe(): boolean {
    return this.use === "changes" || existsSync(this.path);
  }

  private openOrMake(): DatabaseSync {
    if (!this.mayBe || this.path === inMemory) return openFile(inMemory);
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    if (!existsSync(this.path)) keepPrivate(this.path);
    return openFile(this.path);
  }
}

const inMemory = ":memory:";

function openFile(path: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: busyTimeoutMs });
    // Before the first pragma that writes: a file that is not ours keeps its bytes.
    layoutOf(database, path);
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    database.exec("BEGIN IMMEDIATE");
    const layout = layoutOf(database, path);
    if (layout < cloudSchemaVersion) {
      database.exec(layout === 0 ? cloudSchema : upgradeFrom(layout));
      database.exec(`PRAGMA user_version = ${cloudSchemaVersion}`);
    }
    database.exec("COMMIT");
    // Of an older release, which left it readable for all.
    if (path !== inMemory) keepPrivate(path);
    return database;
  } catch (error) {
    database?.close();
    if (storageFailureOf(error) !== undefined || error instanceof CapstanError) throw error;
    throw corrupt(path, messageOf(error), error);
  }
}

/** All that leads from an older layout to the present one. */
function upgradeFrom(layout: number): string {
  const steps = Object.entries(cloudSchemaUpgrades).filter(([from]) => Number(from) >= layout);
  return steps.map(([, sql]) => sql).join("");
}

/** Version of the file's layout, 0 for an empty file. Reads in one statement: others may be creating it. */
function layoutOf(database: DatabaseSync, path: string): number {
  const row = database
    .prepare(
      `SELECT (SELECT user_version FROM pragma_user_version) AS version,
              (SELECT count(*) FROM sqlite_schema) AS tables`,
    )
    .get();
  const version = Number(row?.["version"]);
  if (version > cloudSchemaVersion) {
    throw corrupt(path, `it was written by a newer release (layout ${version})`);
  }
  if (version === 0 && Number(row?.["tables"]) > 0) {
    throw corrupt(path, "it is a database of something else");
  }
  return version;
}

function corrupt(path: string, reason: string, cause?: unknown): CapstanError {
  return new CapstanError({
    code: "CLOUD_CORRUPT",
    source: "cloud",
    subject: path,
    message: `cannot open local cloud ${path}: ${reason}`,
    hint: "the file was left as it is; restore it from a backup or choose another --state",
    cause,
  });
}

/**
 * A transaction that was refused for want of room or of the lock was taken back as a whole: it had no
 * effect. Of one that met a failing disk nothing is known (architecture rule 5.3). Only a lock is worth
 * waiting for: it goes without anybody's doing.
 */
function unusable(
  path: string,
  failure: StorageFailure,
  tookEffect: "nothing" | "perhaps",
  cause: unknown,
): CapstanError {
  const { says, hint } = storageWords[failure];
  return new CapstanError({
    code: "CLOUD_FAILED",
    source: "cloud",
    subject: path,
    hint,
    cause,
    message: `local cloud: cannot use ${path}: ${says} (${messageOf(cause)})`,
    retryable: failure === "busy",
    ambiguous: failure === "broken" && tookEffect === "perhaps",
  });
}

function isBusy(error: unknown): boolean {
  return storageFailureOf(error) === "busy";
}
