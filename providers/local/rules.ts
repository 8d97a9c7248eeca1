import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { CapstanError } from "../../src/api/error.js";
import type { JsonObject } from "../../src/api/json.js";
import type { Trouble } from "./faults.js";
import { logOf } from "./ledger.js";
import { fromRow, type LocalKind, type LocalResource, setState } from "./resource.js";

const defaultBootMs = 200;

/** Lets everything happen whose time has come: hosts boot, and some end by themselves. */
export function settle(database: DatabaseSync, now: number): void {
  const events = database
    .prepare(
      `SELECT * FROM resources
       WHERE (state = 'pending' AND ready_ms <= ?1) OR (state <> 'terminated' AND dies_ms <= ?1)`,
    )
    .all(now)
    .map(fromRow)
    .flatMap((resource) => eventsOf(resource, now))
    .sort((left, right) => left.atMs - right.atMs);
  for (const { resource, state, atMs } of events) {
    setState(database, resource.id, state, atMs);
    logOf(database, { call: state === "running" ? "boot" : "die", atMs })(state, resource);
  }
}

function eventsOf(resource: LocalResource, now: number) {
  const { state, readyMs, diesMs } = resource;
  const boot = { resource, state: "running" as const, atMs: readyMs };
  const death = { resource, state: "terminated" as const, atMs: diesMs };
  return [...(state === "pending" ? [boot] : []), death].filter(({ atMs }) => atMs <= now);
}

/** When a new resource shows, runs and ends, after what its faults make of it. */
export function courseOf(
  database: DatabaseSync,
  {
    kind,
    spec,
    now,
  }: { readonly kind: LocalKind; readonly spec: JsonObject; readonly now: number },
  course: readonly Trouble[],
): Pick<LocalResource, "createdMs" | "listedMs" | "readyMs" | "diesMs"> {
  const of = (mode: Trouble["mode"]) => course.filter((trouble) => trouble.mode === mode);
  const msOf = (mode: Trouble["mode"]) => of(mode).reduce((sum, { ms }) => sum + ms, 0);
  const bootMs = kind === "LocalHost" ? bootMsOf(database, spec) + msOf("slowBoot") : 0;
  const readyMs = of("neverBoots").length > 0 ? Infinity : now + bootMs;
  return {
    createdMs: now,
    listedMs: now + msOf("lag"),
    readyMs,
    diesMs: of("dies").length > 0 ? readyMs + msOf("dies") : Infinity,
  };
}

/** The network that a resource is in; undefined for one that is in none that exists. */
export function networkOf(database: DatabaseSync, spec: JsonObject): LocalResource | undefined {
  if (typeof spec["networkId"] !== "string") return undefined;
  const row = database
    .prepare("SELECT * FROM resources WHERE id = ? AND state <> 'terminated'")
    .get(spec["networkId"]);
  return row === undefined ? undefined : fromRow(row);
}

/** Throws QUOTA when the network's machineQuota is used up by hosts that are alive. */
export function refuseOverQuota(database: DatabaseSync, spec: JsonObject): void {
  const network = mustHaveNetwork(database, spec);
  const quota = network.spec["machineQuota"];
  if (typeof quota !== "number") return;
  const hosts = usersOf(database, network.id).filter(({ kind }) => kind === "LocalHost");
  if (hosts.length < quota) return;
  throw new CapstanError({
    code: "QUOTA",
    source: "cloud",
    message: `local cloud: quota of ${quota} machines is exhausted`,
    hint: "raise machineQuota in the Cluster's providerSpec or delete machines",
  });
}

/** Throws CLOUD_FAILED, retryable, while a network holds something. */
export function refuseWhileUsed(database: DatabaseSync, resource: LocalResource): void {
  if (resource.kind !== "LocalNetwork") return;
  const users = usersOf(database, resource.id);
  if (users.length === 0) return;
  throw new CapstanError({
    code: "CLOUD_FAILED",
    source: "cloud",
    message: `local cloud: network ${resource.id} is still used by ${namesOf(users)}`,
    retryable: true,
  });
}

/** Throws RESOURCE_GONE for what does not exist or is terminated. */
export function refuseGone(
  resource: LocalResource | undefined,
  call: string,
  id: string,
): asserts resource is LocalResource {
  if (resource !== undefined && resource.state !== "terminated") return;
  throw new CapstanError({
    code: "RESOURCE_GONE",
    source: "cloud",
    message: `cannot ${call} ${id}: it is gone`,
  });
}

/** Addresses count up within the network's range, 10 for the first, and are never used twice. */
export function allocateStatus(
  database: DatabaseSync,
  { kind, id, spec }: { readonly kind: LocalKind; readonly id: string; readonly spec: JsonObject },
): JsonObject {
  if (kind === "LocalNetwork") return {};
  const [base = "10.0.0.0"] = String(mustHaveNetwork(database, spec).spec["cidr"]).split("/");
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

function mustHaveNetwork(database: DatabaseSync, spec: JsonObject): LocalResource {
  const network = networkOf(database, spec);
  if (network !== undefined) return network;
  throw new CapstanError({
    code: "CLOUD_FAILED",
    source: "cloud",
    message: `local cloud: network ${String(spec["networkId"])} does not exist`,
  });
}

function bootMsOf(database: DatabaseSync, spec: JsonObject): number {
  const own = spec["bootMs"] ?? networkOf(database, spec)?.spec["bootMs"];
  return typeof own === "number" ? own : defaultBootMs;
}

/** What is alive in a network, oldest first. */
function usersOf(
  database: DatabaseSync,
  networkId: string,
): { readonly id: string; readonly kind: LocalKind }[] {
  return database
    .prepare(
      `SELECT id, kind FROM resources
       WHERE state <> 'terminated' AND spec ->> 'networkId' = ? ORDER BY rowid`,
    )
    .all(networkId) as unknown as { id: string; kind: LocalKind }[];
}

const namedUsers = 3;

function namesOf(users: readonly { readonly id: string }[]): string {
  const names = users.slice(0, namedUsers).map(({ id }) => id);
  const others = users.length - names.length;
  return others > 0 ? `${names.join(", ")} and ${others} more` : names.join(", ");
}
