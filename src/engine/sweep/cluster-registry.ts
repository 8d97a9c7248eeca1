import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CapstanError, messageOf } from "../../api/error.js";
import { makeFolder } from "../backend/durable-files.js";
import { keepPrivate } from "../../provider/private-file.js";
import type { NotedCluster } from "../../sweep/clusters.js";

/** Version of the file's layout; a file with a higher one is refused. */
const layoutVersion = 1;

const layout = `
CREATE TABLE IF NOT EXISTS clusters (
  cluster_uid TEXT PRIMARY KEY,
  cluster     TEXT NOT NULL,
  stack       TEXT NOT NULL,
  provider    TEXT NOT NULL,
  backend     TEXT NOT NULL,
  noted_ms    INTEGER NOT NULL
) STRICT;
PRAGMA user_version = ${layoutVersion};`;

/**
 * Every cluster UID that went to a cloud from a state folder, kept beyond the cluster's end: what is
 * left in the cloud with such a UID is ours to sweep, and nothing else is. Processes may share it.
 */
export class ClusterRegistry {
  private constructor(private readonly database: DatabaseSync) {}

  /** Throws BAD_STATE for a file that is none of ours, SCHEMA_NEWER for a newer release's. */
  static open(stateDir: string): ClusterRegistry {
    makeFolder(stateDir);
    const path = fileIn(stateDir);
    let database: DatabaseSync | undefined;
    try {
      keepPrivate(path);
      database = new DatabaseSync(path, { timeout: 5_000 });
      const version = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
      if (version > layoutVersion) throw newer(path, version);
      if (version < layoutVersion) database.exec(`PRAGMA journal_mode = WAL; ${layout}`);
      return new ClusterRegistry(database);
    } catch (error) {
      database?.close();
      throw error instanceof CapstanError ? error : damaged(path, error);
    }
  }

  /**
   * Writes a cluster down before the first call to its cloud; it is on the disk when this returns.
   * Idempotent. The latest word on a UID's stack and backend counts: a stack that moved to another
   * backend is that backend's from then on.
   */
  note({ clusterUid, cluster, stack, provider, backend, notedAtMs }: NotedCluster): void {
    this.database
      .prepare(
        `INSERT INTO clusters (cluster_uid, cluster, stack, provider, backend, noted_ms)
         VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (cluster_uid) DO UPDATE
           SET cluster = excluded.cluster, stack = excluded.stack,
               provider = excluded.provider, backend = excluded.backend
           WHERE (cluster, stack, provider, backend)
                 IS NOT (excluded.cluster, excluded.stack, excluded.provider, excluded.backend)`,
      )
      .run(clusterUid, cluster, stack, provider, backend, notedAtMs);
  }

  /** All that were ever noted, oldest first. */
  all(): NotedCluster[] {
    return this.database
      .prepare(
        `SELECT cluster_uid AS clusterUid, cluster, stack, provider, backend, noted_ms AS notedAtMs
         FROM clusters ORDER BY noted_ms, cluster_uid`,
      )
      .all()
      .map((row) => ({ ...row }) as unknown as NotedCluster);
  }

  close(): void {
    this.database.close();
  }
}

/** Every cluster that was noted in a state folder, oldest first. Makes nothing. Throws what `open` throws. */
export function notedClusters(stateDir: string): NotedCluster[] {
  if (!existsSync(fileIn(stateDir))) return [];
  const registry = ClusterRegistry.open(stateDir);
  try {
    return registry.all();
  } finally {
    registry.close();
  }
}

/** Notes one cluster: see `ClusterRegistry.note`. To be called before the first call to its cloud. */
export function noteCluster(stateDir: string, cluster: NotedCluster): void {
  const registry = ClusterRegistry.open(stateDir);
  try {
    registry.note(cluster);
  } finally {
    registry.close();
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
