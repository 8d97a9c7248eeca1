import type { DatabaseSync } from "node:sqlite";
import type { JsonObject } from "../../../src/api/json.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { Failure, Identity, NodeReport } from "../../../src/provider/port.js";

export type LocalKind =
  "LocalNetwork" | "LocalLoadBalancer" | "LocalHost" | "LocalTarget" | "LocalVolume";
type LocalState = "pending" | "running" | "terminated";

/** A resource as the local cloud has it. Times are milliseconds since the epoch. */
export interface LocalResource {
  readonly id: string;
  readonly kind: LocalKind;
  readonly state: LocalState;
  readonly who: Identity;
  readonly spec: JsonObject;
  readonly status: JsonObject;
  readonly createdMs: number;
  /** From when on listings show it. */
  readonly listedMs: number;
  /** When it runs, or ran; Infinity for a host that never boots. */
  readonly readyMs: number;
  /** When it ends by itself; Infinity for most. */
  readonly diesMs: number;
  /** When its node will have joined; Infinity when none is about to. */
  readonly joinsMs: number;
  /** Since when it is ready; absent while it is not. */
  readonly readySinceMs?: number;
  /** What its node last said about itself; absent before the first time. */
  readonly node?: NodeReport;
  /** Why it fails when it would run; absent: it runs. */
  readonly failure?: Failure;
  /** Until when nothing shows it but the operation that made it; absent: it was there at once. */
  readonly acceptedUntilMs?: number;
  /** Why that operation fails in the end; absent: it goes well. */
  readonly rejection?: Failure;
}

/** Whether the cloud has accepted it, and shows nothing of it. */
export function isHidden({ acceptedUntilMs, rejection }: LocalResource, nowMs: number): boolean {
  return rejection !== undefined || (acceptedUntilMs !== undefined && acceptedUntilMs > nowMs);
}

/** Whether the host was to run and does not. */
export function hasFailed({ state, readyMs, failure }: LocalResource): boolean {
  return state === "pending" && failure !== undefined && readyMs === Infinity;
}

/** Whether the host stands still and boots once it is started. */
export function isStopped(resource: LocalResource): boolean {
  return hasFailed(resource) && resource.failure?.reason === stoppedHost.reason;
}

/** What becomes of a host's readiness when it boots, joins or restarts. */
export type LocalReadiness = Pick<LocalResource, "joinsMs" | "readySinceMs" | "node">;

/** What a listing is narrowed to; everything without any. */
export interface LocalScope {
  readonly cluster?: string;
  readonly clusterUid?: string;
  readonly name?: string;
}

/** Which resources of a scope a listing at a moment shows, oldest first, gone ones included. */
export function resourcesIn(
  database: DatabaseSync,
  scope: LocalScope,
  listedBy = Number.MAX_SAFE_INTEGER,
): LocalResource[] {
  return database
    .prepare(
      `SELECT * FROM resources
       WHERE (?1 IS NULL OR cluster = ?1) AND (?2 IS NULL OR cluster_uid = ?2)
         AND (?3 IS NULL OR name = ?3) AND listed_ms <= ?4
         AND rejection IS NULL AND coalesce(accepted_until_ms, 0) <= ?4
       ORDER BY created_ms, rowid`,
    )
    .all(scope.cluster ?? null, scope.clusterUid ?? null, scope.name ?? null, listedBy)
    .map(fromRow);
}

export function resourceById(database: DatabaseSync, id: string): LocalResource | undefined {
  const row = database.prepare("SELECT * FROM resources WHERE id = ?").get(id);
  return row === undefined ? undefined : fromRow(row);
}

/** A terminated host answers to its token for ever, as on EC2; other kinds forget theirs. */
export function resourceByToken(
  database: DatabaseSync,
  kind: LocalKind,
  token: string,
): LocalResource | undefined {
  const row = database
    .prepare(
      `SELECT * FROM resources
       WHERE kind = ? AND token = ? AND (kind = 'LocalHost' OR state <> 'terminated')`,
    )
    .get(kind, token);
  return row === undefined ? undefined : fromRow(row);
}

export function insertResource(database: DatabaseSync, resource: LocalResource): void {
  const { id, kind, state, who, spec, status, createdMs, listedMs, readyMs, diesMs } = resource;
  database
    .prepare(
      `INSERT INTO resources
         (id, kind, state, cluster, cluster_uid, name, token, spec, status,
          created_ms, listed_ms, ready_ms, dies_ms, ready_since_ms, failure, accepted_until_ms,
          rejection)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      id,
      kind,
      state,
      who.cluster,
      who.clusterUid,
      who.name,
      who.token,
      JSON.stringify(spec),
      JSON.stringify(status),
      createdMs,
      listedMs,
      orNever(readyMs),
      orNever(diesMs),
      resource.readySinceMs ?? null,
      textOf(resource.failure),
      resource.acceptedUntilMs ?? null,
      textOf(resource.rejection),
    );
}

function textOf(failure: Failure | undefined): string | null {
  return failure === undefined ? null : JSON.stringify(failure);
}

/** A host that boots begins to run. */
export function setRunning(database: DatabaseSync, id: string): void {
  database.prepare("UPDATE resources SET state = 'running' WHERE id = ?").run(id);
}

/** A host that was to become a node and does not. */
export function setBroken(database: DatabaseSync, id: string, failure: Failure): void {
  database
    .prepare("UPDATE resources SET state = 'pending', failure = ? WHERE id = ?")
    .run(textOf(failure) ?? null, id);
  setFailed(database, id);
}

const stoppedHost: Failure = { reason: "local cloud: it was told to stop" };

/** A host that is there and does not run. */
export function setStopped(database: DatabaseSync, id: string): void {
  setBroken(database, id, stoppedHost);
  setReadiness(database, id, { joinsMs: Infinity });
}

/** A host that boots once more, wherever the cloud has room for it: what broke below it is left behind. */
export function setStarted(database: DatabaseSync, id: string, readyMs: number): void {
  database
    .prepare("UPDATE resources SET state = 'pending', failure = NULL, ready_ms = ? WHERE id = ?")
    .run(readyMs, id);
}

/** A host that was to boot and never will: what it failed with stands already. */
export function setFailed(database: DatabaseSync, id: string): void {
  database.prepare("UPDATE resources SET ready_ms = NULL WHERE id = ?").run(id);
}

/** What has ended joins nothing any more; since when it was ready stays on record. */
export function setTerminated(database: DatabaseSync, id: string, atMs: number): void {
  database
    .prepare("UPDATE resources SET state = 'terminated', gone_ms = ?, joins_ms = NULL WHERE id = ?")
    .run(atMs, id);
  database.prepare("DELETE FROM user_data WHERE id = ?").run(id);
}

/**
 * How what a cluster consists of runs: not at all, which is a row of the cloud's file alone, as processes of this machine, or in
 * namespaces of this machine, where kubeadm makes nodes of it.
 */
export type LocalNodes = "simulated" | "processes" | "kubeadm";

/** How a resource with such a spec runs. Pure. */
export function nodesOf({ nodes }: JsonObject): LocalNodes {
  return nodes === "processes" || nodes === "kubeadm" ? nodes : "simulated";
}

/** Whether something of this machine runs for a resource. Pure. */
export function hasPower(spec: JsonObject): boolean {
  return nodesOf(spec) !== "simulated";
}

/** With the host itself, so that there is none without. */
export function insertUserData(database: DatabaseSync, id: string, text: string): void {
  database.prepare("INSERT INTO user_data (id, text) VALUES (?, ?)").run(id, text);
}

/** Once: there are none from then on. */
export function takeUserData(database: DatabaseSync, id: string): string | undefined {
  const row = database.prepare("DELETE FROM user_data WHERE id = ? RETURNING text").get(id);
  return row === undefined ? undefined : String(row["text"]);
}

/** The hosts that a load balancer is in front of. */
export function membersBehind(database: DatabaseSync, loadBalancerId: string): LocalResource[] {
  return database
    .prepare(
      `SELECT * FROM resources
       WHERE kind = 'LocalHost' AND state <> 'terminated' AND spec ->> 'loadBalancerId' = ?`,
    )
    .all(loadBalancerId)
    .map(fromRow);
}

/** The load balancer of a host's cluster, in the same network; undefined where there is none. */
export function loadBalancerOf(
  database: DatabaseSync,
  { who, spec }: Pick<LocalResource, "who" | "spec">,
): LocalResource | undefined {
  const row = database
    .prepare(
      `SELECT * FROM resources
       WHERE kind = 'LocalLoadBalancer' AND state <> 'terminated' AND cluster_uid = ? AND spec ->> 'networkId' = ?`,
    )
    .get(who.clusterUid, String(spec["networkId"]));
  return row === undefined ? undefined : fromRow(row);
}

export function setStatus(database: DatabaseSync, id: string, status: JsonObject): void {
  database.prepare("UPDATE resources SET status = ? WHERE id = ?").run(JSON.stringify(status), id);
}

/** When it ends by itself, milliseconds since the epoch. */
export function setDying(database: DatabaseSync, id: string, atMs: number): void {
  database.prepare("UPDATE resources SET dies_ms = ? WHERE id = ?").run(atMs, id);
}

export function setReadiness(database: DatabaseSync, id: string, readiness: LocalReadiness): void {
  const { joinsMs, readySinceMs, node } = readiness;
  database
    .prepare("UPDATE resources SET joins_ms = ?, ready_since_ms = ?, node = ? WHERE id = ?")
    .run(
      orNever(joinsMs),
      readySinceMs ?? null,
      node === undefined ? null : JSON.stringify(node),
      id,
    );
}

/** A row of the table `resources`. */
export function fromRow(row: Record<string, unknown>): LocalResource {
  const text = (key: string): string => String(row[key]);
  const kind = text("kind") as LocalKind;
  return omitUndefined({
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
    listedMs: Number(row["listed_ms"]),
    readyMs: Number(row["ready_ms"] ?? Infinity),
    diesMs: Number(row["dies_ms"] ?? Infinity),
    joinsMs: Number(row["joins_ms"] ?? Infinity),
    readySinceMs: row["ready_since_ms"] === null ? undefined : Number(row["ready_since_ms"]),
    node: row["node"] === null ? undefined : (JSON.parse(text("node")) as NodeReport),
    failure: row["failure"] === null ? undefined : (JSON.parse(text("failure")) as Failure),
    acceptedUntilMs:
      row["accepted_until_ms"] === null ? undefined : Number(row["accepted_until_ms"]),
    rejection: row["rejection"] === null ? undefined : (JSON.parse(text("rejection")) as Failure),
  });
}

/** SQLite has no infinite integers: never is NULL. */
function orNever(ms: number): number | null {
  return Number.isFinite(ms) ? ms : null;
}

export function setMarks(database: DatabaseSync, id: string, who: Identity): void {
  const { cluster, clusterUid, name, token } = who;
  database
    .prepare("UPDATE resources SET cluster = ?, cluster_uid = ?, name = ?, token = ? WHERE id = ?")
    .run(cluster, clusterUid, name, token, id);
}

export function clearMarks(database: DatabaseSync, id: string): void {
  database
    .prepare(
      "UPDATE resources SET cluster = '', cluster_uid = '', name = '', token = '' WHERE id = ?",
    )
    .run(id);
}
