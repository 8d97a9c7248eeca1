import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { counted } from "../../src/api/counted.js";
import { CapstanError } from "../../src/api/error.js";
import type { JsonObject } from "../../src/api/json.js";
import { quotaHint } from "./preflight.js";
import { fromRow, isHidden, type LocalKind, type LocalResource, nodesOf } from "./file/resource.js";

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
    message: `local cloud: quota of ${counted(quota, "machine")} is exhausted`,
    hint: quotaHint,
  });
}

/** Throws IN_USE, naming what a network holds or what a host is registered at, while there is something. */
export function refuseWhileUsed(database: DatabaseSync, { kind, id }: LocalResource): void {
  if (kind !== "LocalNetwork" && kind !== "LocalHost") return;
  const users = kind === "LocalNetwork" ? usersOf(database, id) : belongingsOf(database, id);
  if (users.length === 0) return;
  throw new CapstanError({
    code: "IN_USE",
    source: "cloud",
    message: `local cloud: ${kind === "LocalNetwork" ? "network" : "host"} ${id} is still used`,
    blockedBy: users.map((user) => user.id),
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

/** Throws NOT_OURS for what bears the marks of somebody else. */
export function refuseMarked({ id, who }: LocalResource): void {
  if (who.token === "") return;
  throw new CapstanError({
    code: "NOT_OURS",
    source: "cloud",
    message: `local cloud: cannot mark ${id}: it is marked as ${who.cluster} ${who.name}`,
    hint: "it was left as it is",
  });
}

/** Addresses count up within the network's range, 10 for the first, and are never used twice. */
export function allocateStatus(
  database: DatabaseSync,
  {
    kind,
    id,
    spec,
    now,
  }: {
    readonly kind: LocalKind;
    readonly id: string;
    readonly spec: JsonObject;
    readonly now: number;
  },
): JsonObject {
  if (kind === "LocalNetwork") return {};
  if (kind === "LocalTarget" || kind === "LocalVolume") {
    mustHaveHost(database, spec, now);
    return {};
  }
  const [base = "10.0.0.0"] = String(mustHaveNetwork(database, spec).spec["cidr"]).split("/");
  const used = database
    .prepare("SELECT count(*) AS n FROM resources WHERE spec ->> 'networkId' = ?")
    .get(spec["networkId"] as SQLInputValue);
  const offset = 10 + Number(used?.["n"]);
  const parts = base.split(".").map(Number);
  const number = parts.reduce((sum, part) => sum * 256 + part, 0) + offset;
  const address = [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
  // One of processes tells where it answers once it does.
  if (kind === "LocalLoadBalancer" && nodesOf(spec) === "processes") return {};
  if (kind === "LocalLoadBalancer") return { address, port: spec["port"] ?? 6443 };
  return { address, providerId: `local:///${String(spec["zone"])}/${id}` };
}

/** What belongs to a host is made on one that is there: one that is only accepted shows nowhere yet. */
function mustHaveHost(database: DatabaseSync, spec: JsonObject, now: number): void {
  const id = String(spec["hostId"]);
  const row = database
    .prepare("SELECT * FROM resources WHERE id = ? AND state <> 'terminated'")
    .get(id);
  if (row !== undefined && !isHidden(fromRow(row), now)) return;
  if (row !== undefined) {
    throw new CapstanError({
      code: "NOT_YET_USABLE",
      source: "cloud",
      message: `local cloud: host ${id} was not found`,
      retryable: true,
    });
  }
  throw new CapstanError({
    code: "CLOUD_FAILED",
    source: "cloud",
    message: `local cloud: host ${id} does not exist`,
  });
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

/** Where a host is registered, oldest first, but for what was let go. Its volumes are detached when it goes. */
function belongingsOf(database: DatabaseSync, hostId: string): { readonly id: string }[] {
  return database
    .prepare(
      `SELECT id FROM resources
       WHERE kind <> 'LocalVolume' AND state <> 'terminated' AND token <> '' AND spec ->> 'hostId' = ?
       ORDER BY rowid`,
    )
    .all(hostId)
    .map((row) => ({ id: String(row["id"]) }));
}
