// Targets of target groups, and their health.

import { type Handler, later, never, type Scope } from "../model/scope.js";
import type { TargetGroupRow, TargetRow } from "../model/tables.js";
import { ApiError } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { WireObject } from "../protocol/xml.js";
import { loadBalancersOf, mustHaveTargetGroup } from "./target-groups.js";

interface TargetName {
  readonly targetId: string;
  readonly port: number;
}

const registerTargets: Handler = (scope, params) => {
  const group = mustHaveTargetGroup(scope, params.required("TargetGroupArn"));
  for (const name of targetsNamed(params, group)) {
    checkTarget(scope, group, name.targetId);
    const id = idOf(group, name);
    const before = scope.db.get("targets", id);
    if (before !== undefined && before.state !== "draining") continue;
    never(scope, "targetIsDrained", id);
    scope.db.put("targets", { id, targetGroupArn: group.id, ...name, state: "initial" });
    if (loadBalancersOf(scope, group.id).length > 0) {
      later(scope, "targetIsHealthy", id, scope.settings.durations.targetMs);
    }
  }
  return {};
};

function targetsNamed(params: Params, group: TargetGroupRow): TargetName[] {
  return params.objects("Targets").map((target) => {
    target.ignore("AvailabilityZone");
    return { targetId: target.required("Id"), port: target.number("Port") ?? group.port };
  });
}

function idOf(group: TargetGroupRow, { targetId, port }: TargetName): string {
  return `${group.id} ${targetId}:${port}`;
}

/** Throws InvalidTarget for an instance that is not there, is elsewhere, or does not run. */
function checkTarget({ db }: Scope, group: TargetGroupRow, targetId: string): void {
  if (group.targetType === "ip") {
    if (/^\d+\.\d+\.\d+\.\d+$/.test(targetId)) return;
    throw new ApiError("InvalidTarget", `The IP address '${targetId}' is not a valid IPv4 address`);
  }
  const instance = db.get("instances", targetId);
  if (instance === undefined)
    throw new ApiError("InvalidTarget", `Instance ID '${targetId}' is not valid`);
  if (instance.vpcId !== group.vpcId) {
    throw new ApiError(
      "InvalidTarget",
      `The following targets are not in the target group VPC '${group.vpcId}': '${targetId}'`,
    );
  }
  if (instance.state === "running") return;
  throw new ApiError(
    "InvalidTarget",
    `The following targets are not in a running state and cannot be registered: '${targetId}'`,
  );
}

const deregisterTargets: Handler = (scope, params) => {
  const group = mustHaveTargetGroup(scope, params.required("TargetGroupArn"));
  const named = params.objects("Targets").map((target) => {
    target.ignore("AvailabilityZone");
    return { targetId: target.required("Id"), port: target.number("Port") };
  });
  const seconds = Number(group.attributes["deregistration_delay.timeout_seconds"]);
  for (const row of targetsOf(scope, group)) {
    const isMeant = named.some(
      ({ targetId, port }) =>
        targetId === row.targetId && (port === undefined || port === row.port),
    );
    if (!isMeant || row.state === "draining") continue;
    never(scope, "targetIsHealthy", row.id);
    if (loadBalancersOf(scope, group.id).length === 0) {
      scope.db.remove("targets", row.id);
      continue;
    }
    scope.db.put("targets", { ...row, state: "draining" });
    later(scope, "targetIsDrained", row.id, seconds * 1000);
  }
  return {};
};

function targetsOf({ db }: Scope, { id }: TargetGroupRow): TargetRow[] {
  return db.all("targets").filter(({ targetGroupArn }) => targetGroupArn === id);
}

const describeTargetHealth: Handler = (scope, params) => {
  const group = mustHaveTargetGroup(scope, params.required("TargetGroupArn"));
  params.ignore("Include");
  const rows = targetsOf(scope, group);
  const named = targetsNamed(params, group);
  const shown =
    named.length === 0
      ? rows.map((row) => ({ ...row, health: healthOf(scope, row) }))
      : named.map((name) => {
          const row = rows.find(({ id }) => id === idOf(group, name));
          return { ...name, health: row === undefined ? notRegistered : healthOf(scope, row) };
        });
  return {
    TargetHealthDescriptions: shown.map(({ targetId, port, health }) => ({
      Target: { Id: targetId, Port: port },
      HealthCheckPort: group.health.port === "traffic-port" ? String(port) : group.health.port,
      TargetHealth: health,
    })),
  };
};

const notRegistered: WireObject = {
  State: "unused",
  Reason: "Target.NotRegistered",
  Description: "Target is not registered to the target group",
};

function healthOf(scope: Scope, { state, targetId, targetGroupArn }: TargetRow): WireObject {
  if (state === "draining") {
    return {
      State: "draining",
      Reason: "Target.DeregistrationInProgress",
      Description: "Target deregistration is in progress",
    };
  }
  if (loadBalancersOf(scope, targetGroupArn).length === 0) {
    return {
      State: "unused",
      Reason: "Target.NotInUse",
      Description: "Target group is not configured to receive traffic from the load balancer",
    };
  }
  const instance = scope.db.get("instances", targetId);
  if (instance !== undefined && instance.state !== "running") {
    return {
      State: "unused",
      Reason: "Target.InvalidState",
      Description: `Target is in the ${instance.state} state`,
    };
  }
  return stateWires[state];
}

const stateWires: Readonly<Record<"initial" | "healthy" | "unhealthy", WireObject>> = {
  initial: {
    State: "initial",
    Reason: "Elb.RegistrationInProgress",
    Description: "Target registration is in progress",
  },
  healthy: { State: "healthy" },
  unhealthy: {
    State: "unhealthy",
    Reason: "Target.FailedHealthChecks",
    Description: "Health checks failed",
  },
};

/** What happens to targets by itself. */
export const targetTimers = {
  targetIsHealthy: ({ db, settings }: Scope, id: string) => {
    const row = db.get("targets", id);
    if (row?.state !== "initial") return;
    const instance = db.get("instances", row.targetId);
    const untold = instance !== undefined && settings.answersWhenTold ? "unhealthy" : "healthy";
    db.put("targets", { ...row, state: instance?.health ?? untold });
  },
  targetIsDrained: ({ db }: Scope, id: string) => db.remove("targets", id),
};

export const targetLooks = { DescribeTargetHealth: describeTargetHealth };
export const targetChanges = {
  RegisterTargets: registerTargets,
  DeregisterTargets: deregisterTargets,
};
