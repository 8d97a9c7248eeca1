import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { CapstanError, messageOf } from "../../src/api/error.js";
import type { JsonObject } from "../../src/api/json.js";
import type { Clock, Identity } from "../../src/provider/port.js";
import { type Fault, takeFault, takesEffect } from "./faults.js";
import { cloudSchema, cloudSchemaVersion } from "./schema.js";

export type LocalKind = "LocalNetwork" | "LocalLoadBalancer" | "LocalHost";
export type LocalState = "pending" | "running" | "terminated";

export interface LocalResource {
  readonly id: string;
  readonly kind: LocalKind;
  readonly state: LocalState;
  readonly who: Identity;
  readonly spec: JsonObject;
  readonly status: JsonObject;
  readonly createdMs: number;
  readonly readyMs: number;
}

export interface LedgerEntry {
  readonly seq: number;
  readonly atMs: number;
  readonly pid: number;
  readonly call: string;
  readonly effect: string;
  readonly kind: string | null;
  readonly id: string | null;
  readonly name: string | null;
  readonly detail: string | null;
}

const idPrefix: Record<LocalKind, string> = {
  LocalNetwork: "net",
  LocalLoadBalancer: "lb",
  LocalHost: "host",
};

/** How long a writer waits inside SQLite: it blocks the event loop, so the rest is waited outside. */
const busyTimeoutMs = 50;
const busyDeadlineMs = 20_000;
const defaultBootMs = 200;
const hangMs = 10 * 60_000;

/**
 * The simulated cloud: networks, load balancers and hosts in one SQLite file that several processes
 * may use at once. It behaves like EC2 where that is inconvenient: a create answers before the host
 * runs, a token of a terminated host gives that host back, names are not unique, and a network that
 * holds hosts cannot be deleted. Every call and its effect goes into the ledger in the same
 * SQLite transaction as the effect itself.
 *
 * Errors: CLOUD_CORRUPT (file is no cloud of ours), CLOUD_FAILED, CLOUD_THROTTLED, QUOTA, CANCELLED.
 */
export class LocalCloud {
  private database: DatabaseSync | undefined;

  constructor(
    readonly path: string,
    private readonly clock: Clock,
  ) {}

  /** Finds or makes a resource by token. Answers as soon as it is recorded; a host then boots. */
  create(
    kind: LocalKind,
    who: Identity,
    spec: JsonObject,
    signal?: AbortSignal,
  ): Promise<LocalResource> {
    return this.call("create", { kind, who }, signal, (database, log) => {
      const known = this.withToken(database, kind, who.token);
      if (known !== undefined) {
        log("found", known);
        return known;
      }
      if (kind === "LocalHost") refuseOverQuota(database, spec);
      const now = this.clock.now();
      const id = `${idPrefix[kind]}-${randomBytes(8).toString("hex")}`;
      const readyMs = kind === "LocalHost" ? now + bootMsOf(database, spec) : now;
      const status = allocateStatus(database, kind, id, spec);
      database
        .prepare(
          `INSERT INTO resources VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)`,
        )
        .run(
          id,
          kind,
          kind === "LocalHost" ? "pending" : "running",
          who.cluster,
          who.clusterUid,
          who.name,
          who.token,
          JSON.stringify(spec),
          JSON.stringify(status),
          now,
          readyMs,
        );
      const made = this.byId(database, id) as LocalResource;
      log("created", made, spec);
      return made;
    });
  }

  /** One resource by id, or undefined. Gone resources are shown with state "terminated". */
  get(id: string, signal?: AbortSignal): Promise<LocalResource | undefined> {
    return this.call("get", { id }, signal, (database, log) => {
      const found = this.byId(database, id);
      log(found === undefined ? "none" : "found", found);
      return found;
    });
  }

  /** What carries a cluster's marks, oldest first, gone resources included. */
  list(
    scope: { readonly cluster?: string; readonly clusterUid?: string; readonly name?: string },
    signal?: AbortSignal,
  ): Promise<LocalResource[]> {
    return this.call("list", {}, signal, (database, log) => {
      const rows = database
        .prepare(
          `SELECT * FROM resources WHERE (?1 IS NULL OR cluster = ?1) AND (?2 IS NULL OR cluster_uid = ?2)
             AND (?3 IS NULL OR name = ?3)
           ORDER BY created_ms, rowid`,
        )
        .all(scope.cluster ?? null, scope.clusterUid ?? null, scope.name ?? null)
        .map(fromRow);
      log(`found ${rows.length}`);
      return rows;
    });
  }

  /** Replaces the settable fields. `call` tells a provider's change from a person's in the ledger. */
  update(
    id: string,
    spec: JsonObject,
    signal?: AbortSignal,
    call: "update" | "set" = "update",
  ): Promise<LocalResource> {
    return this.call(call, { id }, signal, (database, log) => {
      this.mustBeAlive(database, id, call);
      database
        .prepare("UPDATE resources SET spec = ? WHERE id = ?")
        .run(JSON.stringify(spec), id);
      const changed = this.byId(database, id) as LocalResource;
      log("updated", changed, spec);
      return changed;
    });
  }

  /** Ends a resource. `kill` is what happens behind a provider's back. */
  terminate(
    id: string,
    signal?: AbortSignal,
    call: "terminate" | "kill" = "terminate",
  ): Promise<void> {
    return this.call(call, { id }, signal, (database, log) => {
      const resource = this.byId(database, id);
      if (resource === undefined || resource.state === "terminated") {
        log("already gone", resource);
        return;
      }
      refuseWhileUsed(database, resource);
      database
        .prepare("UPDATE resources SET state = 'terminated', gone_ms = ? WHERE id = ?")
        .run(this.clock.now(), id);
      log("terminated", resource);
    });
  }

  /** The ledger from `afterSeq` on, in order. */
  async ledger(afterSeq = 0): Promise<LedgerEntry[]> {
    const database = await this.open();
    return database
      .prepare(
        `SELECT seq, at_ms AS atMs, pid, call, effect, kind, id, name, detail
         FROM ledger WHERE seq > ? ORDER BY seq`,
      )
      .all(afterSeq) as unknown as LedgerEntry[];
  }

  /** Makes the next `times` calls of a kind go wrong; see docs/local-cloud. */
  async addFault(fault: Fault & { readonly times: number }): Promise<void> {
    await this.write((database) =>
      database
        .prepare("INSERT INTO faults (call, mode, name, remaining) VALUES (?, ?, ?, ?)")
        .run(fault.call, fault.mode, fault.name ?? null, fault.times),
    );
  }

  async clearFaults(): Promise<void> {
    await this.write((database) => database.exec("DELETE FROM faults"));
  }

  close(): void {
    this.database?.close();
    this.database = undefined;
  }

  /** One call as a cloud's user sees it: fault, effect and ledger entry, then the answer. */
  private async call<T>(
    call: string,
    about: { readonly kind?: LocalKind; readonly who?: Identity; readonly id?: string },
    signal: AbortSignal | undefined,
    effect: (database: DatabaseSync, log: Log) => T,
  ): Promise<T> {
    signal?.throwIfAborted();
    const { fault, answer } = await this.write((database) => {
      this.settle(database);
      const fault = takeFault(database, call, about.who?.name ?? nameOf(database, about.id));
      const log = this.log(database, call);
      if (fault === undefined || takesEffect(fault)) {
        return { fault, answer: effect(database, log) };
      }
      log(`refused: ${fault}`);
      return { fault, answer: undefined };
    });
    if (fault === "hang" || fault === "hangAfter") await this.clock.sleep(hangMs, signal);
    if (fault !== undefined) throw faultError(call, fault);
    return answer;
  }

  /** Hosts whose boot time has passed are running now; the ledger says since when. */
  private settle(database: DatabaseSync): void {
    const now = this.clock.now();
    const booted = database
      .prepare("SELECT * FROM resources WHERE state = 'pending' AND ready_ms <= ? ORDER BY ready_ms")
      .all(now)
      .map(fromRow);
    for (const resource of booted) {
      database.prepare("UPDATE resources SET state = 'running' WHERE id = ?").run(resource.id);
      this.log(database, "boot", resource.readyMs)("running", resource);
    }
  }

  private log(database: DatabaseSync, call: string, atMs = this.clock.now()): Log {
    return (effect, resource, detail) => {
      database
        .prepare(
          `INSERT INTO ledger (at_ms, pid, call, effect, kind, id, cluster, cluster_uid, name, token, detail)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        )
        .run(
          atMs,
          process.pid,
          call,
          effect,
          resource?.kind ?? null,
          resource?.id ?? null,
          resource?.who.cluster ?? null,
          resource?.who.clusterUid ?? null,
          resource?.who.name ?? null,
          resource?.who.token ?? null,
          detail === undefined ? null : JSON.stringify(detail),
        );
    };
  }

  private byId(database: DatabaseSync, id: string): LocalResource | undefined {
    const row = database.prepare("SELECT * FROM resources WHERE id = ?").get(id);
    return row === undefined ? undefined : fromRow(row);
  }

  private withToken(
    database: DatabaseSync,
    kind: LocalKind,
    token: string,
  ): LocalResource | undefined {
    // A terminated host answers to its token for ever, as on EC2; other kinds forget theirs.
    const row = database
      .prepare(
        `SELECT * FROM resources WHERE kind = ? AND token = ? AND (kind = 'LocalHost' OR state <> 'terminated')`,
      )
      .get(kind, token);
    return row === undefined ? undefined : fromRow(row);
  }

  private mustBeAlive(database: DatabaseSync, id: string, call: string): void {
    const resource = this.byId(database, id);
    if (resource === undefined || resource.state === "terminated") {
      throw new CapstanError({
        code: "RESOURCE_GONE",
        source: "cloud",
        message: `cannot ${call} ${id}: it is gone`,
      });
    }
  }

  /** One short immediate transaction; while another process writes, waits without blocking. */
  private async write<T>(work: (database: DatabaseSync) => T): Promise<T> {
    return this.whenFree(async () => {
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
  }

  private async whenFree<T>(work: () => Promise<T>): Promise<T> {
    const deadline = this.clock.now() + busyDeadlineMs;
    for (let waitMs = 2; ; waitMs = Math.min(waitMs * 2, 50)) {
      try {
        return await work();
      } catch (error) {
        if (!isBusy(error) || this.clock.now() > deadline) throw error;
        await this.clock.sleep(waitMs);
      }
    }
  }

  private async open(): Promise<DatabaseSync> {
    this.database ??= await this.whenFree(async () => openFile(this.path));
    return this.database;
  }
}

type Log = (effect: string, resource?: LocalResource, detail?: JsonObject) => void;

function openFile(path: string): DatabaseSync {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: busyTimeoutMs });
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
    database.exec("BEGIN IMMEDIATE");
    const version = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (version > cloudSchemaVersion) {
      throw corrupt(path, `it was written by a newer release (layout ${version})`);
    }
    const tables = Number(database.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.["n"]);
    if (version === 0 && tables > 0) throw corrupt(path, "it is a database of something else");
    if (version === 0) {
      database.exec(cloudSchema);
      database.exec(`PRAGMA user_version = ${cloudSchemaVersion}`);
    }
    database.exec("COMMIT");
    return database;
  } catch (error) {
    database?.close();
    if (isBusy(error) || error instanceof CapstanError) throw error;
    throw corrupt(path, messageOf(error), error);
  }
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

/** SQLITE_BUSY (5) and SQLITE_LOCKED (6), primary codes. */
function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: number } | null)?.errcode;
  return code !== undefined && ((code & 0xff) === 5 || (code & 0xff) === 6);
}

function faultError(call: string, mode: Fault["mode"]): CapstanError {
  const lost = mode === "lose" || mode === "hang" || mode === "hangAfter";
  return new CapstanError({
    code: mode === "throttle" ? "CLOUD_THROTTLED" : "CLOUD_FAILED",
    source: "cloud",
    message: `local cloud: ${call} ${lost ? "gave no answer" : `failed (${mode}, by fault)`}`,
    retryable: mode === "throttle",
    ambiguous: lost,
  });
}

function fromRow(row: Record<string, unknown>): LocalResource {
  const text = (key: string): string => String(row[key]);
  const kind = text("kind") as LocalKind;
  return {
    id: text("id"),
    kind,
    state: text("state") as LocalState,
    who: {
      cluster: text("cluster"),
      clusterUid: text("cluster_uid"),
      kind,
      name: text("name"),
      token: text("token"),
    },
    spec: JSON.parse(text("spec")) as JsonObject,
    status: JSON.parse(text("status")) as JsonObject,
    createdMs: Number(row["created_ms"]),
    readyMs: Number(row["ready_ms"]),
  };
}

function nameOf(database: DatabaseSync, id: string | undefined): string | undefined {
  if (id === undefined) return undefined;
  const row = database.prepare("SELECT name FROM resources WHERE id = ?").get(id);
  return row === undefined ? undefined : String(row["name"]);
}

function networkOf(database: DatabaseSync, spec: JsonObject): JsonObject {
  const row = database
    .prepare("SELECT spec FROM resources WHERE id = ? AND state <> 'terminated'")
    .get(spec["networkId"] as SQLInputValue);
  if (row === undefined) {
    throw new CapstanError({
      code: "CLOUD_FAILED",
      source: "cloud",
      message: `local cloud: network ${String(spec["networkId"])} does not exist`,
    });
  }
  return JSON.parse(String(row["spec"])) as JsonObject;
}

function bootMsOf(database: DatabaseSync, spec: JsonObject): number {
  const own = spec["bootMs"] ?? networkOf(database, spec)["bootMs"];
  return typeof own === "number" ? own : defaultBootMs;
}

function refuseOverQuota(database: DatabaseSync, spec: JsonObject): void {
  const quota = networkOf(database, spec)["machineQuota"];
  if (typeof quota !== "number") return;
  const alive = countUsers(database, spec["networkId"] as string, "LocalHost");
  if (alive < quota) return;
  throw new CapstanError({
    code: "QUOTA",
    source: "cloud",
    message: `local cloud: quota of ${quota} machines is exhausted`,
    hint: "raise machineQuota in the Cluster's providerSpec or delete machines",
  });
}

function countUsers(database: DatabaseSync, networkId: string, kind?: LocalKind): number {
  const row = database
    .prepare(
      `SELECT count(*) AS n FROM resources
       WHERE state <> 'terminated' AND spec ->> 'networkId' = ?1 AND (?2 IS NULL OR kind = ?2)`,
    )
    .get(networkId, kind ?? null);
  return Number(row?.["n"]);
}

function refuseWhileUsed(database: DatabaseSync, resource: LocalResource): void {
  if (resource.kind !== "LocalNetwork") return;
  const users = countUsers(database, resource.id);
  if (users === 0) return;
  throw new CapstanError({
    code: "CLOUD_FAILED",
    source: "cloud",
    message: `local cloud: network ${resource.id} is still used by ${users} resources`,
    retryable: true,
  });
}

/** Addresses count up within the network's range, 10 for the first, and are never used twice. */
function allocateStatus(
  database: DatabaseSync,
  kind: LocalKind,
  id: string,
  spec: JsonObject,
): JsonObject {
  if (kind === "LocalNetwork") return {};
  const [base = "10.0.0.0"] = String(networkOf(database, spec)["cidr"]).split("/");
  const used = database
    .prepare("SELECT count(*) AS n FROM resources WHERE spec ->> 'networkId' = ?")
    .get(spec["networkId"] as SQLInputValue);
  const offset = 10 + Number(used?.["n"]);
  const parts = base.split(".").map(Number);
  const number = parts.reduce((sum, part) => sum * 256 + part, 0) + offset;
  const address = [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
  if (kind === "LocalLoadBalancer") return { address, port: spec["port"] ?? 6443 };
  return { address, providerId: `local:///${String(spec["zone"])}/${id}` };
}
