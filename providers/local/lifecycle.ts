import type { DatabaseSync } from "node:sqlite";
import type { JsonObject } from "../../src/api/json.js";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import type { Failure } from "../../src/provider/port.js";
import type { ArmedFault } from "./faults.js";
import { logOf } from "./file/ledger.js";
import { canServe, nodeOf, restartsNode } from "./file/node.js";
import {
  fromRow,
  hasPower,
  type LocalKind,
  type LocalResource,
  type LocalReadiness,
  setFailed,
  setReadiness,
  setRunning,
  setTerminated,
} from "./file/resource.js";
import { networkOf } from "./constraints.js";

const defaultBootMs = 200;

const rejected: Failure = {
  code: "QUOTA",
  reason: "local cloud: accepted, and then a quota was exhausted (rejects, by fault)",
};

const withoutRoom: Failure = {
  code: "CAPACITY",
  reason:
    "local cloud: accepted, and then there was no room for a host of this size (noRoomLater, by fault)",
};

const brokenHost: Failure = {
  code: "CLOUD_FAILED",
  reason: "local cloud: the hardware below the host broke (breaks, by fault)",
};

/** When a new resource shows, runs and ends, after what its faults make of it. */
export function lifecycleOf(
  database: DatabaseSync,
  {
    kind,
    spec,
    now,
  }: { readonly kind: LocalKind; readonly spec: JsonObject; readonly now: number },
  lifecycle: readonly ArmedFault[],
): Omit<LocalResource, "id" | "kind" | "state" | "who" | "spec" | "status"> {
  const of = (mode: ArmedFault["mode"]) => lifecycle.filter((fault) => fault.mode === mode);
  const msOf = (mode: ArmedFault["mode"]) => of(mode).reduce((sum, { ms }) => sum + ms, 0);
  const bootMs = kind === "LocalHost" ? bootMsOf(database, spec) + msOf("slowBoot") : 0;
  const [rejection] = [
    ...of("rejects").map(() => rejected),
    ...of("noRoomLater").map(() => withoutRoom),
  ];
  const isRejected = rejection !== undefined;
  const operationMs = msOf("accepts") + msOf("rejects") + msOf("noRoomLater");
  const shownMs = now + operationMs;
  const readyMs = of("neverBoots").length > 0 || isRejected ? Infinity : shownMs + bootMs;
  return omitUndefined({
    createdMs: now,
    listedMs: shownMs + msOf("lag"),
    readyMs,
    diesMs: of("dies").length > 0 ? readyMs + msOf("dies") : Infinity,
    joinsMs: Infinity,
    readySinceMs: kind === "LocalHost" || hasPower(spec) ? undefined : shownMs,
    failure: of("breaks").length > 0 ? brokenHost : undefined,
    acceptedUntilMs: operationMs > 0 ? shownMs : undefined,
    rejection,
  });
}

/** Something that happens to a host by itself. */
interface Event {
  readonly kind: "boot" | "join" | "die" | "reject";
  readonly resource: LocalResource;
  readonly atMs: number;
}

/** Lets everything happen whose time has come, in the order of time: hosts boot, join, and some end. */
export function settle(database: DatabaseSync, now: number): void {
  const events = database
    .prepare(
      `SELECT * FROM resources
       WHERE (state = 'pending' AND ready_ms <= ?1) OR (state = 'running' AND joins_ms <= ?1)
          OR (state <> 'terminated' AND dies_ms <= ?1)
          OR (state <> 'terminated' AND rejection IS NOT NULL AND accepted_until_ms <= ?1)`,
    )
    .all(now)
    .map(fromRow)
    .flatMap((resource) => eventsOf(database, resource))
    .filter(({ atMs }) => atMs <= now)
    .sort((left, right) => left.atMs - right.atMs);
  for (const event of events) happen(database, event);
}

function eventsOf(database: DatabaseSync, resource: LocalResource): Event[] {
  const { state, readyMs, diesMs, spec, failure, rejection, acceptedUntilMs = 0 } = resource;
  if (rejection !== undefined) return [{ kind: "reject", resource, atMs: acceptedUntilMs }];
  const boots = state === "pending";
  const { joinsMs } = boots && failure === undefined ? startOf(database, spec, readyMs) : resource;
  const events: Event[] = [
    ...(boots ? [{ kind: "boot" as const, resource, atMs: readyMs }] : []),
    { kind: "join", resource, atMs: joinsMs },
  ];
  return [...events.filter(({ atMs }) => atMs <= diesMs), { kind: "die", resource, atMs: diesMs }];
}

function happen(database: DatabaseSync, { kind, resource, atMs }: Event): void {
  const { id, spec } = resource;
  const log = logOf(database, { call: kind, atMs });
  switch (kind) {
    case "boot": {
      if (resource.failure !== undefined) {
        setFailed(database, id);
        return log("failed", resource, { ...resource.failure });
      }
      const readiness = startOf(database, spec, atMs);
      setRunning(database, id);
      setReadiness(database, id, readiness);
      return log("running", resource, deadlineOf(readiness));
    }
    case "join":
      setReadiness(database, id, { joinsMs: Infinity, readySinceMs: atMs, node: nodeOf(spec) });
      return log("ready", resource);
    case "die":
      setTerminated(database, id, atMs);
      return log("terminated", resource);
    case "reject":
      setTerminated(database, id, atMs);
      return log("rejected", resource, { ...resource.rejection });
  }
}

/**
 * What a change of its spec makes of a resource's readiness. Another version restarts the node: it is
 * not ready until it has joined again, and says about itself what it said before. A host that is asked
 * for no join has nothing to wait for.
 */
export function changeNode(
  database: DatabaseSync,
  resource: LocalResource,
  { spec, now }: { readonly spec: JsonObject; readonly now: number },
): void {
  const { id, kind, state, spec: from, node, readySinceMs } = resource;
  if (kind !== "LocalHost" || state === "pending") return;
  const joinMs = joinMsOf(database, spec);
  const waitsOtherwise = readySinceMs === undefined && joinMs !== joinMsOf(database, from);
  if (!restartsNode(from, spec) && !waitsOtherwise) return;
  const start = startOf(database, spec, now);
  if (joinMs === undefined && !hasPower(spec)) {
    return setReadiness(database, id, { ...start, readySinceMs: readySinceMs ?? now });
  }
  setReadiness(database, id, omitUndefined({ ...start, node }));
  logOf(database, { call: "restart", atMs: now })("not ready", resource, deadlineOf(start));
}

/** The readiness of a host whose node starts at a moment: at once where no join is asked for. */
function startOf(database: DatabaseSync, spec: JsonObject, atMs: number): LocalReadiness {
  // Its processes tell.
  if (hasPower(spec)) return { joinsMs: Infinity };
  const joinMs = joinMsOf(database, spec);
  if (joinMs === undefined) return { joinsMs: Infinity, readySinceMs: atMs, node: nodeOf(spec) };
  return { joinsMs: canServe(spec) ? atMs + joinMs : Infinity };
}

/** For the ledger: when the node will be ready, null for never; nothing when it is already. */
function deadlineOf({ joinsMs, readySinceMs }: LocalReadiness): JsonObject | undefined {
  if (readySinceMs !== undefined) return undefined;
  return { joinsMs: Number.isFinite(joinsMs) ? joinsMs : null };
}

/** Milliseconds from a host's start until it runs. */
export function bootMsOf(database: DatabaseSync, spec: JsonObject): number {
  if (hasPower(spec)) return 0;
  const own = spec["bootMs"] ?? networkOf(database, spec)?.spec["bootMs"];
  return typeof own === "number" ? own : defaultBootMs;
}

/** How long a host's node takes to join; undefined where no join is asked for. */
function joinMsOf(database: DatabaseSync, spec: JsonObject): number | undefined {
  const own = spec["joinMs"] ?? networkOf(database, spec)?.spec["joinMs"];
  return typeof own === "number" ? own : undefined;
}
