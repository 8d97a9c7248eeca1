import type { Pool } from "pg";
import type { StorePermits } from "./backend-permits.js";

/** What the names of connections of engines begin with. PostgreSQL keeps 63 bytes of one, a UUID has 36. */
const namePrefix = "capstan-permit-";

interface Access {
  /** Pulumi's table. */
  readonly table: string;
  readonly pool: (signal: AbortSignal) => Promise<Pool>;
  readonly makeTable: (pool: Pool) => Promise<void>;
}

/**
 * Permits of a PostgreSQL backend: rows of a table beside Pulumi's. Connections of engines bear their permit's name, and a trigger
 * on Pulumi's table refuses what they write once the row is gone. It locks the row for as long as the write takes, so that a permit
 * is withdrawn between two writes and never in one. Connections without such a name are not asked.
 */
export class PostgresPermits implements StorePermits {
  constructor(private readonly access: Access) {}

  async grant(permit: string, url: string, signal: AbortSignal): Promise<string> {
    const pool = await this.access.pool(signal);
    await this.prepare(pool);
    const { folder, id } = partsOf(permit);
    const statement = `INSERT INTO ${this.permits} (name, folder) VALUES ($1, $2)`;
    await pool.query(statement, [`${namePrefix}${id}`, folder]);
    return named(url, `${namePrefix}${id}`);
  }

  async isGranted(permit: string, signal: AbortSignal): Promise<boolean> {
    const pool = await this.access.pool(signal);
    const statement = `SELECT 1 FROM ${this.permits} WHERE name = $1`;
    const { rowCount } = await pool.query(statement, [nameOf(permit)]);
    return (rowCount ?? 0) > 0;
  }

  /** Waits for a write that is under way. */
  async withdraw(permit: string, signal: AbortSignal): Promise<void> {
    const pool = await this.access.pool(signal);
    await pool.query(`DELETE FROM ${this.permits} WHERE name = $1`, [nameOf(permit)]);
  }

  forget(permit: string, signal: AbortSignal): Promise<void> {
    return this.withdraw(permit, signal);
  }

  /** None where no command of a release with permits has been. */
  async list(folder: string, signal: AbortSignal): Promise<string[]> {
    const pool = await this.access.pool(signal);
    if (!(await this.isPrepared(pool))) return [];
    const statement = `SELECT name FROM ${this.permits} WHERE folder = $1`;
    const { rows } = await pool.query<{ name: string }>(statement, [folder]);
    return rows.map(({ name }) => name.slice(namePrefix.length));
  }

  private get permits(): string {
    return `${this.access.table}_permits`;
  }

  private async isPrepared(pool: Pool): Promise<boolean> {
    const { table } = this.access;
    const { rowCount } = await pool.query(
      "SELECT 1 FROM pg_trigger WHERE tgrelid = to_regclass($1) AND tgname = lower($2)",
      [table, this.permits],
    );
    return (rowCount ?? 0) > 0;
  }

  /** In one transaction, one command after another. Whether others have come first is asked twice, since all but the first know. */
  private async prepare(pool: Pool): Promise<void> {
    const { table, makeTable } = this.access;
    const { permits } = this;
    if (await this.isPrepared(pool)) return;
    await makeTable(pool);
    await pool.query(`
      SELECT pg_advisory_xact_lock(hashtext('${permits}'));
      CREATE TABLE IF NOT EXISTS ${permits} (
        name TEXT PRIMARY KEY,
        folder TEXT NOT NULL,
        granted_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now()
      );
      CREATE OR REPLACE FUNCTION ${permits}() RETURNS trigger LANGUAGE plpgsql AS $body$
      DECLARE permit TEXT := current_setting('application_name');
      BEGIN
        IF permit LIKE '${namePrefix}%' THEN
          PERFORM 1 FROM ${permits} WHERE name = permit FOR KEY SHARE;
          IF NOT FOUND THEN
            RAISE EXCEPTION 'the permit of this engine was withdrawn' USING ERRCODE = '55000';
          END IF;
        END IF;
        RETURN NEW;
      END $body$;
      DROP TRIGGER IF EXISTS ${permits} ON ${table};
      CREATE TRIGGER ${permits} BEFORE INSERT OR UPDATE ON ${table}
        FOR EACH ROW EXECUTE FUNCTION ${permits}();
    `);
  }
}

function partsOf(permit: string): { readonly folder: string; readonly id: string } {
  const end = permit.lastIndexOf("/");
  return { folder: permit.slice(0, end), id: permit.slice(end + 1) };
}

function nameOf(permit: string): string {
  return `${namePrefix}${partsOf(permit).id}`;
}

/** A URL whose connections have a name. Source: https://www.postgresql.org/docs/current/libpq-connect.html. */
function named(url: string, name: string): string {
  const [address = "", query = ""] = url.split(/\?(.*)/s);
  const parameters = new URLSearchParams(query);
  parameters.set("application_name", name);
  return `${address}?${parameters.toString()}`;
}
