// How instances start, stop and end.

import { ApiError } from "../protocol/api-error.js";
import type { WireObject } from "../protocol/xml.js";
import { type Handler, later, never, type Scope } from "../model/scope.js";
import type { InstanceRow, InstanceState } from "../model/tables.js";
import { interfacesOf, stateWire } from "./instance-views.js";
import { newPublicAddress, removeInterface } from "./interfaces.js";
import { mustGet } from "./kinds.js";
import { checkCapacity, startBooting } from "./launch.js";
import { rowsOf } from "./listing.js";

const terminateInstances: Handler = (scope, params) => {
  params.ignore("SkipOsShutdown", "Force");
  const rows = named(scope, params.texts("InstanceId"));
  const kept = rows.find(
    ({ disableApiTermination, state }) => disableApiTermination && !isEnding(state),
  );
  if (kept !== undefined) {
    throw new ApiError(
      "OperationNotPermitted",
      `The instance '${kept.id}' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.`,
    );
  }
  return {
    instancesSet: rows.map((row) => changed(row, endInstance(scope, row, userReason(scope)))),
  };
};

const userReason = (scope: Scope) => ({
  transitionReason: `User initiated (${clockText(scope.nowMs)})`,
  stateReason: {
    code: "Client.UserInitiatedShutdown",
    message: "Client.UserInitiatedShutdown: User initiated shutdown",
  },
});

/** Begins the end of an instance, unless it has begun; answers the state that it has then. */
function endInstance(
  scope: Scope,
  row: InstanceRow,
  why: Pick<InstanceRow, "transitionReason" | "stateReason">,
): InstanceState {
  if (isEnding(row.state)) return row.state;
  const { id } = row;
  for (const kind of [
    "instanceRuns",
    "instanceFails",
    "instanceStops",
    "spotIsNoticed",
    "spotEnds",
    "instanceRetires",
  ] as const) {
    never(scope, kind, id);
  }
  scope.db.put("instances", { ...row, ...why, state: "shutting-down" });
  later(scope, "instanceTerminates", id, scope.settings.durations.terminateMs);
  return "shutting-down";
}

function isEnding(state: InstanceState): boolean {
  return state === "shutting-down" || state === "terminated";
}

const stopInstances: Handler = (scope, params) => {
  params.ignore("SkipOsShutdown", "Force");
  const rows = named(scope, params.texts("InstanceId"));
  for (const row of rows) checkStoppable(row);
  const instancesSet = rows.map((row) => {
    if (row.state !== "running") return changed(row, row.state);
    scope.db.put("instances", { ...row, ...userReason(scope), state: "stopping" });
    later(scope, "instanceStops", row.id, scope.settings.durations.stopMs);
    return changed(row, "stopping");
  });
  return { instancesSet };
};

function checkStoppable({ id, state, spot, disableApiStop }: InstanceRow): void {
  if (spot !== undefined) {
    throw new ApiError(
      "UnsupportedOperation",
      `You can't stop the Spot Instance '${id}' because it is associated with a one-time Spot Instance request. You can only stop Spot Instances associated with persistent Spot Instance requests.`,
    );
  }
  if (disableApiStop) {
    throw new ApiError(
      "OperationNotPermitted",
      `The instance '${id}' may not be stopped. Modify its 'disableApiStop' instance attribute and try again.`,
    );
  }
  if (state === "running" || state === "stopping" || state === "stopped") return;
  throw new ApiError(
    "IncorrectInstanceState",
    `This instance '${id}' is not in a state from which it can be stopped.`,
  );
}

const startInstances: Handler = (scope, params) => {
  const rows = named(scope, params.texts("InstanceId"));
  const wrong = rows.find(({ state }) => !["stopped", "running", "pending"].includes(state));
  if (wrong !== undefined) {
    throw new ApiError(
      "IncorrectInstanceState",
      `The instance '${wrong.id}' is not in a state from which it can be started.`,
    );
  }
  const instancesSet = rows.map((row) => {
    if (row.state !== "stopped") return changed(row, row.state);
    checkCapacity(scope, row.instanceType, row.zone);
    const { stateReason: _, ...kept } = row;
    scope.db.put("instances", {
      ...kept,
      state: "pending",
      transitionReason: "",
      launchedAtMs: scope.nowMs,
    });
    givePublicAddress(scope, row.id);
    startBooting(scope, row.id);
    return changed(row, "pending");
  });
  return { instancesSet };
};

/** A stopped instance has lost its public address, if it had one of its own, and gets another. */
function givePublicAddress(scope: Scope, id: string): void {
  const [first] = interfacesOf(scope, id);
  if (first === undefined || scope.db.get("subnets", first.subnetId)?.mapPublicIp !== true) return;
  scope.db.put("interfaces", { ...first, publicIp: newPublicAddress(scope) });
}

const rebootInstances: Handler = (scope, params) => {
  named(scope, params.texts("InstanceId"));
  return { return: true };
};

function named(scope: Scope, ids: readonly string[]): readonly InstanceRow[] {
  if (ids.length === 0) {
    throw new ApiError("MissingParameter", "The request must contain the parameter InstanceId");
  }
  return rowsOf(scope, "instances", [...new Set(ids)]);
}

function changed({ id, state }: InstanceRow, now: InstanceState): WireObject {
  return { instanceId: id, currentState: stateWire(now), previousState: stateWire(state) };
}

/** "2026-11-23 08:00:00 GMT". */
function clockText(ms: number): string {
  return new Date(ms)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, " GMT");
}

/** What happens to instances by itself. */
export const instanceTimers = {
  instanceRuns: (scope: Scope, id: string) => {
    const row = scope.db.get("instances", id);
    if (row?.state === "pending") scope.db.put("instances", { ...row, state: "running" });
  },
  instanceFails: (scope: Scope, id: string) => {
    const message = "Server.InternalError: Internal error on launch";
    const stateReason = { code: "Server.InternalError", message };
    endInstance(scope, mustGet(scope, "instances", id), { transitionReason: message, stateReason });
  },
  instanceStops: (scope: Scope, id: string) => {
    const row = mustGet(scope, "instances", id);
    scope.db.put("instances", { ...row, state: "stopped" });
    for (const { publicIp: _, ...one } of interfacesOf(scope, id)) scope.db.put("interfaces", one);
  },
  instanceTerminates: (scope: Scope, id: string) => {
    const row = mustGet(scope, "instances", id);
    scope.db.put("instances", { ...row, state: "terminated" });
    letGo(scope, id);
    later(scope, "instanceIsForgotten", id, scope.settings.durations.goneIsShownMs);
  },
  instanceIsForgotten: (scope: Scope, id: string) => scope.db.remove("instances", id),
  spotIsNoticed: (scope: Scope, id: string) => {
    const row = mustGet(scope, "instances", id);
    if (row.spot === undefined || isEnding(row.state)) return;
    scope.db.put("instances", { ...row, spot: { ...row.spot, noticedAtMs: scope.nowMs } });
    later(scope, "spotEnds", id, scope.settings.durations.spotNoticeMs);
  },
  /** One whose root device is a volume is stopped, and can be started again on other hardware. */
  instanceRetires: (scope: Scope, id: string) => {
    const row = scope.db.get("instances", id);
    if (row?.state !== "running") return;
    const message = "Server.ScheduledStop: Stopped due to scheduled retirement";
    const stateReason = { code: "Server.ScheduledStop", message };
    const { events: _, ...kept } = row;
    scope.db.put("instances", {
      ...kept,
      transitionReason: message,
      stateReason,
      state: "stopping",
    });
    later(scope, "instanceStops", id, scope.settings.durations.stopMs);
  },
  spotEnds: (scope: Scope, id: string) => {
    const message = "Server.SpotInstanceTermination: Spot instance termination";
    const stateReason = { code: "Server.SpotInstanceTermination", message };
    endInstance(scope, mustGet(scope, "instances", id), { transitionReason: message, stateReason });
  },
};

/** What a terminated instance had goes with it, or stays by itself; it is a target no more. */
function letGo(scope: Scope, id: string): void {
  const { db } = scope;
  for (const one of interfacesOf(scope, id)) {
    const { attachment, ...rest } = one;
    if (attachment?.deleteOnTermination === false) db.put("interfaces", rest);
    else removeInterface(scope, one.id);
  }
  for (const volume of db.all("volumes")) {
    const { attachment, ...rest } = volume;
    if (attachment?.instanceId !== id) continue;
    if (attachment.deleteOnTermination) db.remove("volumes", volume.id);
    else db.put("volumes", { ...rest, state: "available" });
  }
  for (const target of db.all("targets")) {
    if (target.targetId === id) db.remove("targets", target.id);
  }
}

export const instanceStateChanges = {
  TerminateInstances: terminateInstances,
  StopInstances: stopInstances,
  StartInstances: startInstances,
  RebootInstances: rebootInstances,
};
