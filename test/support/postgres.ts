import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { findPostgres } from "#postgres";
import { until } from "../scenario/until.js";
import { freePorts } from "./free-ports.js";
import { type RunAs, Servers } from "./servers.js";

/** A real PostgreSQL on loopback, in a folder of its own, with a password made for it. */
export class Postgres {
  private constructor(
    private readonly servers: Servers,
    private readonly binDir: string,
    readonly password: string,
    readonly port: number,
  ) {}

  /** A running one with the empty database `postgres`; takes about two seconds. */
  static async start(): Promise<Postgres> {
    const binDir = findPostgres(process.env);
    assert.ok(binDir !== undefined, "no PostgreSQL: run npm test, or install postgresql");
    const [port = 0] = await freePorts(1);
    const servers = new Servers("postgres");
    try {
      const postgres = new Postgres(servers, binDir, randomBytes(16).toString("hex"), port);
      postgres.make();
      await postgres.startAgain();
      return postgres;
    } catch (error) {
      await servers.endAll();
      throw error;
    }
  }

  /** Its URL as Pulumi's backend takes it, without the password, which is in the file of `env`. */
  get url(): string {
    return this.urlOf("postgres");
  }

  /** The same of another database. */
  urlOf(database: string): string {
    return `postgres://owner@127.0.0.1:${this.port}/${database}?sslmode=disable`;
  }

  /** The same with the password in it. */
  get urlWithPassword(): string {
    return this.withPassword(this.url);
  }

  withPassword(url: string): string {
    return url.replace("@", `:${this.password}@`);
  }

  /** Makes an empty database. */
  createDatabase(name: string): Promise<void> {
    return this.query("postgres", `CREATE DATABASE ${name}`);
  }

  /** Makes a database with the stacks that another one holds, to which nothing may be connected. */
  async copyStacks(database: string, copy: string): Promise<void> {
    await this.query("postgres", `CREATE DATABASE ${copy} TEMPLATE ${database}`);
    // Pulumi's keys begin with the name of their database.
    await this.query(
      copy,
      `UPDATE pulumi_state SET key = regexp_replace(key, '^${database}/', '${copy}/')`,
    );
  }

  private async query(database: string, text: string): Promise<void> {
    const client = new Client({ connectionString: this.withPassword(this.urlOf(database)) });
    await client.connect();
    try {
      await client.query(text);
    } finally {
      await client.end();
    }
  }

  /** What programs need in their environment to be let in by `url`. */
  get env(): { readonly PGPASSFILE: string } {
    return { PGPASSFILE: join(this.servers.folder, "pgpass") };
  }

  /** As if its machine had lost power: every connection breaks, and nothing more is written. It keeps what it had committed. */
  crash(): Promise<void> {
    return this.servers.end("postgres", "SIGQUIT");
  }

  /** While it does not run; resolves once it takes connections. */
  async startAgain(): Promise<void> {
    const data = join(this.servers.folder, "data");
    // Nothing but loopback, no socket in a folder that others share, no care for power failures.
    const settings = ["listen_addresses=127.0.0.1", `port=${this.port}`, "fsync=off"];
    const args = [...settings, "unix_socket_directories="].flatMap((one) => ["-c", one]);
    const program = join(this.binDir, "postgres");
    const before = this.servers.printed("postgres").length;
    this.servers.start("postgres", program, ["-D", data, ...args], unprivileged());
    await until("PostgreSQL takes connections", () => {
      this.servers.pidOf("postgres");
      // The log goes on where the one that ran before has left it, which said the same.
      const said = this.servers.printed("postgres").slice(before);
      return said.includes("ready to accept connections");
    });
  }

  /** Ends it and removes its data. */
  stop(): Promise<void> {
    return this.servers.endAll();
  }

  private make(): void {
    const { folder } = this.servers;
    const entry = `127.0.0.1:${this.port}:*:owner:${this.password}\n`;
    writeFileSync(this.env.PGPASSFILE, entry, { mode: 0o600 });
    const as = unprivileged();
    const data = join(folder, "data");
    const password = join(folder, "password");
    writeFileSync(password, this.password, { mode: 0o600 });
    mkdirSync(data, { mode: 0o700 });
    if (as.uid !== undefined && as.gid !== undefined) {
      chmodSync(folder, 0o711);
      for (const path of [data, password]) chownSync(path, as.uid, as.gid);
    }
    execFileSync(
      join(this.binDir, "initdb"),
      [
        "-D",
        data,
        "-U",
        "owner",
        `--pwfile=${password}`,
        "--no-sync",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--no-locale",
      ],
      { ...as, cwd: data, stdio: "pipe" },
    );
  }
}

/** PostgreSQL refuses to run as root: there it takes an account that may do nothing else. */
function unprivileged(): RunAs {
  if (process.getuid?.() !== 0) return {};
  const idOf = (option: string) =>
    Number(execFileSync("id", [option, "postgres"], { encoding: "utf8" }).trim());
  return { uid: idOf("-u"), gid: idOf("-g") };
}
