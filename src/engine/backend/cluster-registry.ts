import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CapstanError, messageOf } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { makeStateFolder } from "./state-folder.js";
import { keepPrivate } from "../../provider/private-file.js";
import type { NotedCluster } from "../../sweep/clusters.js";

/** Version of the file's layout; a file with a higher one is refused. */
const layoutVersion = 2;

/** From an empty file to the present layout, one step for each version. */
const layoutSteps = [
  `CREATE TABLE clusters (
     cluster_uid TEXT PRIMARY KEY,
     cluster     TEXT NOT NULL,
     stack       TEXT NOT NULL,
     provider    TEXT NOT NULL,
     backend     TEXT NOT NULL,
     noted_ms    INTEGER NOT NULL
   ) STRICT;`,
  // Clusters of the first layout have no end on record, and what they keep is unknown.
  `ALTER TABLE clusters ADD COLUMN ended_ms INTEGER;
   ALTER TABLE clusters ADD COLUMN keeps TEXT;`,
];

/**
 * Births and ends of the clusters that went to a cloud from a state folder, kept beyond their ends. The cloud's
 * resources of a UID on record are ours; they are garbage once the end of the UID is on record as well. Processes may
 * share it.
 */
export class ClusterRegistry {
  private constructor(private readonly database: DatabaseSync) {}

  /** Throws BAD_STATE for a file that is none of ours, SCHEMA_NEWER for a newer release's. */
  static open(stateDir: string): ClusterRegistry {
    makeStateFolder(stateDir);
    const path = fileIn(stateDir);
    let database: DatabaseSync | undefined;
    try {
      keepPrivate(path);
      database = new DatabaseSync(path, { timeout: 5_000 });
      const version = versionOf(database);
      if (version > layoutVersion) throw newer(path, version);
      if (version < layoutVersion) upgrade(database);
      return new ClusterRegistry(database);
    } catch (error) {
      database?.close();
      throw error instanceof CapstanError ? error : damaged(path, error);
    }
  }

  /**
   * Writes a cluster down before the first call to its cloud; it is on the disk when this returns.
   * Idempotent. The latest note on a UID's stack and backend counts: a stack that moved to another
   * backend is that backend's from then on. A cluster that is noted lives: an end that was recorded before is void.
   */
  note({ clusterUid, cluster, stack, provider, backend, notedAtMs, keeps }: NotedCluster): void {
    this.inTransaction(() => {
      const known = this.all().find((one) => one.clusterUid === clusterUid);
      const kept = [...new Set([...(known?.keeps ?? []), ...(keeps ?? [])])].sort();
      // What earlier targets kept stays unknown.
      const isUnknown = keeps === undefined || (known !== undefined && known.keeps === undefined);
      this.database
        .prepare(
          `INSERT INTO clusters (cluster_uid, cluster, stack, provider, backend, noted_ms, keeps)
           VALUES (?, ?, ?, ?, ?, ?, ?)
           ON CONFLICT (cluster_uid) DO UPDATE
             SET cluster = excluded.cluster, stack = excluded.stack, ended_ms = NULL,
                 provider = excluded.provider, backend = excluded.backend, keeps = excluded.keeps
             WHERE (cluster, stack, provider, backend, keeps, ended_ms) IS NOT
               (excluded.cluster, excluded.stack, excluded.provider, excluded.backend, excluded.keeps, NULL)`,
        )
        .run(
          clusterUid,
          cluster,
          stack,
          provider,
          backend,
          notedAtMs,
          isUnknown ? null : JSON.stringify(kept),
        );
    });
  }

  /** Records that a cluster has ended. Does nothing for one that was never noted. */
  noteEnd(clusterUid: string, endedAtMs: number): void {
    this.database
      .prepare("UPDATE clusters SET ended_ms = ? WHERE cluster_uid = ? AND ended_ms IS NULL")
      .run(endedAtMs, clusterUid);
  }

  /** All that were ever noted, oldest first. */
  all(): NotedCluster[] {
    return this.database
      .prepare(
        `SELECT cluster_uid AS clusterUid, cluster, stack, provider, backend,
                noted_ms AS notedAtMs, ended_ms AS endedAtMs, keeps
         FROM clusters ORDER BY noted_ms, cluster_uid`,
      )
      .all()
      .map((row) => {
        const { endedAtMs, keeps, ...rest } = row as unknown as Row;
        return omitUndefined({
          ...rest,
          endedAtMs: endedAtMs ?? undefined,
          keeps: keeps === null ? undefined : (JSON.parse(keeps) as string[]),
        });
      });
  }

  private inTransaction(work: () => void): void {
    this.database.exec("BEGIN IMMEDIATE");
    try {
      work();
      this.database.exec("COMMIT");
    } catch (error) {
      this.database.exec("ROLLBACK");
      throw error;
    }
  }

  close(): void {
    this.database.close();
  }
}

/** Every cluster that was noted in a state folder, oldest first. Makes nothing. Throws what `open` throws. */
export function notedClusters(stateDir: string): NotedCluster[] {
  if (!existsSync(fileIn(stateDir))) return [];
  return withRegistry(stateDir, (registry) => registry.all());
}

/** Runs work on the registry of a state folder. Throws what `open` throws. */
export function withRegistry<T>(stateDir: string, work: (registry: ClusterRegistry) => T): T {
  const registry = ClusterRegistry.open(stateDir);
  try {
    return work(registry);
  } finally {
    registry.close();
  }
}

/** A row as the database has it. */
type Row = Omit<NotedCluster, "endedAtMs" | "keeps"> & {
  readonly endedAtMs: number | null;
  readonly keeps: string | null;
};

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
}

/** Another process may upgrade it first: the version is read again inside the transaction. */
function upgrade(database: DatabaseSync): void {
  database.exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE");
  try {
    for (const step of layoutSteps.slice(versionOf(database))) database.exec(step);
    database.exec(`PRAGMA user_version = ${layoutVersion}; COMMIT`);
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

function fileIn(stateDir: string): string {
  return join(stateDir, "clusters.db");
}

function newer(path: string, version: number): CapstanError {
  return new CapstanError({
    code: "SCHEMA_NEWER",
    source: "engine",
    subject: path,
    message: `cannot open ${path}: it was written by a newer release (layout ${version})`,
    hint: "use that release",
  });
}

function damaged(path: string, cause: unknown): CapstanError {
  return new CapstanError({
    code: "BAD_STATE",
    source: "engine",
    subject: path,
    message: `cannot open ${path}: ${messageOf(cause)}`,
    hint: "it only tells which clusters were made from here; without it capstan sweep finds less",
    cause,
  });
}
