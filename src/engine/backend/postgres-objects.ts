import type { Pool, PoolConfig } from "pg";
import { omitUndefined } from "../../api/omit-undefined.js";
import { attemptsFor, passwordFor } from "./postgres-access.js";
import { PostgresPermits } from "./postgres-permits.js";
import type { PostgresSettings } from "./postgres-settings.js";

/**
 * The objects of a PostgreSQL backend: a row each, `{"data": <base64>}` under its key. Source:
 * https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/backend/diy/postgres/bucket.go.
 */
export class PostgresObjects {
  readonly advice =
    "see that the server is reachable and lets this user in (docs/state.md#what-capstan-reads-by-itself); the same command then goes on";
  readonly permits: PostgresPermits;
  private opened: Promise<Pool> | undefined;

  constructor(
    private readonly settings: PostgresSettings,
    private readonly limitMs: number,
  ) {
    this.permits = new PostgresPermits({
      table: settings.table,
      pool: (signal) => this.pool(signal),
      makeTable: (pool) => this.makeTable(pool),
    });
  }

  async list(folder: string, signal: AbortSignal): Promise<string[]> {
    const pattern = `${folder.replace(/[\\%_]/g, "\\$&")}/%`;
    const text = `SELECT key FROM ${this.table} WHERE key LIKE $1`;
    const rows = await this.ask<{ key: string }>(signal, text, pattern);
    return rows.map(({ key }) => key).filter((key) => !key.slice(folder.length + 1).includes("/"));
  }

  async read(key: string, signal: AbortSignal): Promise<string | undefined> {
    const text = `SELECT data->>'data' AS data FROM ${this.table} WHERE key = $1`;
    const [row] = await this.ask<{ data: string }>(signal, text, key);
    return row === undefined ? undefined : Buffer.from(row.data, "base64").toString("utf8");
  }

  /** Makes the table as Pulumi does where it has not been here before. */
  async write(key: string, text: string, signal: AbortSignal): Promise<void> {
    const pool = await this.pool(signal);
    const data = JSON.stringify({ data: Buffer.from(text, "utf8").toString("base64") });
    const statement = `INSERT INTO ${this.table} (key, data) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET data = $2, updated_at = now()`;
    try {
      await pool.query(statement, [key, data]);
    } catch (error) {
      if (!isNoTable(error)) throw error;
      await this.makeTable(pool);
      await pool.query(statement, [key, data]);
    }
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    await this.ask(signal, `DELETE FROM ${this.table} WHERE key = $1`, key);
  }

  /**
   * What the server has not said is of the way, such as a connection that ends in the middle; of what it says, that it cannot be
   * reached now (classes 08, 53 and 57). Source: https://www.postgresql.org/docs/current/errcodes-appendix.html.
   */
  mayPass(error: unknown): boolean {
    if (error instanceof NoWay) return false;
    const state = sqlStateOf(error);
    return state === undefined || /^(08|53|57)/.test(state);
  }

  async close(): Promise<void> {
    const { opened } = this;
    this.opened = undefined;
    const pool = await opened?.catch(() => undefined);
    await pool?.end();
  }

  private get table(): string {
    return this.settings.table;
  }

  /** No rows where Pulumi has made no table yet. */
  private async ask<Row extends object>(
    signal: AbortSignal,
    text: string,
    value: string,
  ): Promise<Row[]> {
    const pool = await this.pool(signal);
    try {
      const { rows } = await pool.query<Row>(text, [value]);
      return rows;
    } catch (error) {
      if (isNoTable(error)) return [];
      throw error;
    }
  }

  /** Source: .../pkg/backend/diy/postgres/schema.sql. Of two that make it at once one may fail, and has a table. */
  private async makeTable(pool: Pool): Promise<void> {
    const { table } = this;
    const text = `CREATE TABLE IF NOT EXISTS ${table} (
      key TEXT PRIMARY KEY,
      data JSON NOT NULL,
      updated_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now()
    );
    CREATE INDEX IF NOT EXISTS ${table}_key_prefix_idx ON ${table} (key text_pattern_ops)`;
    await pool.query(text).catch((error: unknown) => {
      if (!["23505", "42710", "42P07"].includes(sqlStateOf(error) ?? "")) throw error;
    });
  }

  /** One that could not be opened is none: the next call tries again. */
  private pool(signal: AbortSignal): Promise<Pool> {
    if (this.opened !== undefined) return this.opened;
    const opening = this.open(signal);
    this.opened = opening;
    opening.catch(() => {
      if (this.opened === opening) this.opened = undefined;
    });
    return opening;
  }

  private async open(signal: AbortSignal): Promise<Pool> {
    const { Pool } = await import("pg");
    const password = await passwordFor(this.settings);
    const attempts = await attemptsFor(this.settings);
    for (const { ssl, mayGoOn } of attempts) {
      const pool = new Pool({ ...poolConfig(this.settings, password, this.limitMs), ssl });
      // A connection that nobody uses may end: the next call makes another one.
      pool.on("error", () => {});
      try {
        (await pool.connect()).release();
        return pool;
      } catch (error) {
        await pool.end();
        if (signal.aborted || !mayGoOn(error)) throw error;
      }
    }
    throw new NoWay("there is no way to connect that the server takes");
  }
}

class NoWay extends Error {}

/**
 * Everything is said, so that the library looks for nothing in the process's own environment. It would read a
 * password file itself and warn of that; a function gives it the password that there is.
 */
function poolConfig(settings: PostgresSettings, password: string, limitMs: number): PoolConfig {
  const { host, port, user, database, applicationName, options } = settings;
  return omitUndefined<PoolConfig>({
    host,
    port,
    user,
    database,
    password: () => password,
    application_name: applicationName,
    options,
    max: 2,
    connectionTimeoutMillis: limitMs,
    query_timeout: limitMs,
    idleTimeoutMillis: limitMs,
    allowExitOnIdle: true,
  });
}

/** Source: https://www.postgresql.org/docs/current/errcodes-appendix.html, undefined_table. */
function isNoTable(error: unknown): boolean {
  return sqlStateOf(error) === "42P01";
}

function sqlStateOf(error: unknown): string | undefined {
  const { code, severity } = error as { readonly code?: string; readonly severity?: string };
  return severity === undefined ? undefined : code;
}
