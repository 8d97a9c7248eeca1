// Target groups.

import { canonicalJson } from "../../../../src/api/json.js";
import { omitUndefined } from "../../../../src/api/omit-undefined.js";
import type { Handler, Scope } from "../model/scope.js";
import type { HealthCheck, TargetGroupRow } from "../model/tables.js";
import { ApiError } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { WireObject } from "../protocol/xml.js";
import {
  changedAttributes,
  checkElbName,
  elbArn,
  elbPage,
  namedRows,
  tagList,
  tagsGiven,
  validationError,
} from "./elb-basics.js";

const protocols = ["TCP", "UDP", "TCP_UDP", "TLS"];

const createTargetGroup: Handler = (scope, params) => {
  const name = params.required("Name");
  checkElbName(name, "target group");
  const protocol = params.required("Protocol");
  if (!protocols.includes(protocol)) {
    throw validationError(
      `The simulator has target groups of ${protocols.join(", ")}, and not of ${protocol}`,
    );
  }
  const port = params.number("Port");
  if (port === undefined || port < 1 || port > 65_535)
    throw validationError("A port must be specified, from 1 to 65535");
  const vpcId = params.required("VpcId");
  if (scope.db.get("vpcs", vpcId) === undefined)
    throw validationError(`The VPC ID '${vpcId}' is not found`);
  params.ignore("IpAddressType");
  const targetType = params.text("TargetType") ?? "instance";
  if (targetType !== "instance" && targetType !== "ip") {
    throw validationError(
      `The simulator has targets that are instances or addresses, and not '${targetType}'`,
    );
  }
  const health = healthOf(params, standardHealth);
  const wish = { name, protocol, port, vpcId, targetType, health, tags: tagsGiven(params) };
  const row = sameGroup(scope, wish) ?? addTargetGroup(scope, wish);
  return { TargetGroups: [wireOf(row, scope)] };
};

type GroupWish = Omit<TargetGroupRow, "id" | "attributes">;

/** Created again with the same settings it is the one that is there; otherwise DuplicateTargetGroupName. */
function sameGroup({ db }: Scope, wish: GroupWish): TargetGroupRow | undefined {
  const before = db.all("targetGroups").find(({ name }) => name === wish.name);
  if (before === undefined) return undefined;
  const { id: _, attributes: __, ...settings } = before;
  if (canonicalJson(settings) === canonicalJson(wish)) return before;
  throw new ApiError(
    "DuplicateTargetGroupName",
    `A target group with the same name '${wish.name}' exists, but with different settings`,
  );
}

function addTargetGroup(scope: Scope, wish: GroupWish): TargetGroupRow {
  if (scope.db.all("targetGroups").length >= scope.settings.quotas.targetGroups) {
    throw new ApiError(
      "TooManyTargetGroups",
      "The maximum number of target groups has been reached",
    );
  }
  const row: TargetGroupRow = {
    ...wish,
    id: elbArn(scope, `targetgroup/${wish.name}/${scope.digits(16)}`),
    attributes: {
      "deregistration_delay.timeout_seconds": "300",
      "deregistration_delay.connection_termination.enabled": "false",
      "preserve_client_ip.enabled": String(wish.targetType === "instance"),
      "proxy_protocol_v2.enabled": "false",
      "stickiness.enabled": "false",
      "stickiness.type": "source_ip",
      "load_balancing.cross_zone.enabled": "use_load_balancer_configuration",
      "target_health_state.unhealthy.connection_termination.enabled": "true",
      "target_health_state.unhealthy.draining_interval_seconds": "0",
    },
  };
  scope.db.put("targetGroups", row);
  return row;
}

const standardHealth: HealthCheck = {
  protocol: "TCP",
  port: "traffic-port",
  enabled: true,
  intervalSeconds: 30,
  timeoutSeconds: 10,
  healthyCount: 5,
  unhealthyCount: 2,
};

/** What a call says of the health check, and otherwise what it was before. */
function healthOf(params: Params, before: HealthCheck): HealthCheck {
  const protocol = params.text("HealthCheckProtocol") ?? before.protocol;
  const isHttp = protocol === "HTTP" || protocol === "HTTPS";
  const asked = {
    path: params.text("HealthCheckPath"),
    code: params.object("Matcher")?.text("HttpCode"),
  };
  if (!isHttp && (asked.path !== undefined || asked.code !== undefined)) {
    throw validationError(
      `Health check paths and matchers are not supported for health check protocol '${protocol}'`,
    );
  }
  const intervalSeconds = params.number("HealthCheckIntervalSeconds") ?? before.intervalSeconds;
  const timeoutSeconds =
    params.number("HealthCheckTimeoutSeconds") ?? (isHttp ? 6 : before.timeoutSeconds);
  if (timeoutSeconds > intervalSeconds) {
    throw validationError(
      `Health check timeout '${timeoutSeconds}' must be smaller than or equal to the interval '${intervalSeconds}'`,
    );
  }
  return omitUndefined<HealthCheck>({
    protocol,
    port: params.text("HealthCheckPort") ?? before.port,
    enabled: params.flag("HealthCheckEnabled") ?? before.enabled,
    intervalSeconds,
    timeoutSeconds,
    healthyCount: params.number("HealthyThresholdCount") ?? before.healthyCount,
    unhealthyCount: params.number("UnhealthyThresholdCount") ?? before.unhealthyCount,
    path: asked.path ?? (isHttp ? (before.path ?? "/") : undefined),
    httpCode: asked.code ?? (isHttp ? (before.httpCode ?? "200-399") : undefined),
  });
}

const modifyTargetGroup: Handler = (scope, params) => {
  const row = mustHaveTargetGroup(scope, params.required("TargetGroupArn"));
  const changed = { ...row, health: healthOf(params, row.health) };
  scope.db.put("targetGroups", changed);
  return { TargetGroups: [wireOf(changed, scope)] };
};

const deleteTargetGroup: Handler = (scope, params) => {
  const { db } = scope;
  const row = db.get("targetGroups", params.required("TargetGroupArn"));
  if (row === undefined) return {};
  if (loadBalancersOf(scope, row.id).length > 0) {
    throw new ApiError(
      "ResourceInUse",
      `Target group '${row.id}' is currently in use by a listener or a rule`,
    );
  }
  for (const target of db.all("targets")) {
    if (target.targetGroupArn === row.id) db.remove("targets", target.id);
  }
  db.remove("targetGroups", row.id);
  return {};
};

/** Load balancers with a listener that leads to a group. */
export function loadBalancersOf({ db }: Scope, arn: string): string[] {
  const leading = db.all("listeners").filter(({ targetGroupArn }) => targetGroupArn === arn);
  return [...new Set(leading.map(({ loadBalancerArn }) => loadBalancerArn))];
}

const modifyAttributes: Handler = (scope, params) => {
  const row = mustHaveTargetGroup(scope, params.required("TargetGroupArn"));
  const attributes = changedAttributes(row.attributes, params, "Target group");
  scope.db.put("targetGroups", { ...row, attributes });
  return { Attributes: tagList(attributes) };
};

const describeAttributes: Handler = (scope, params) => {
  const row = mustHaveTargetGroup(scope, params.required("TargetGroupArn"));
  return { Attributes: tagList(row.attributes) };
};

const describeTargetGroups: Handler = (scope, params) => {
  const named = [params.texts("TargetGroupArns"), params.texts("Names")] as const;
  const of = params.text("LoadBalancerArn");
  const all = scope.db
    .all("targetGroups")
    .filter(({ id }) => of === undefined || loadBalancersOf(scope, id).includes(of));
  const rows = namedRows(all, named, targetGroupNotFound);
  const { items, nextMarker } = elbPage(rows, params);
  return { TargetGroups: items.map((row) => wireOf(row, scope)), NextMarker: nextMarker };
};

function targetGroupNotFound(): ApiError {
  return new ApiError("TargetGroupNotFound", "One or more target groups not found");
}

/** Throws TargetGroupNotFound. */
export function mustHaveTargetGroup({ db }: Scope, arn: string): TargetGroupRow {
  const row = db.get("targetGroups", arn);
  if (row === undefined) throw targetGroupNotFound();
  return row;
}

function wireOf(row: TargetGroupRow, scope: Scope): WireObject {
  const { health } = row;
  return {
    TargetGroupArn: row.id,
    TargetGroupName: row.name,
    Protocol: row.protocol,
    Port: row.port,
    VpcId: row.vpcId,
    HealthCheckProtocol: health.protocol,
    HealthCheckPort: health.port,
    HealthCheckEnabled: health.enabled,
    HealthCheckIntervalSeconds: health.intervalSeconds,
    HealthCheckTimeoutSeconds: health.timeoutSeconds,
    HealthyThresholdCount: health.healthyCount,
    UnhealthyThresholdCount: health.unhealthyCount,
    HealthCheckPath: health.path,
    Matcher: health.httpCode === undefined ? undefined : { HttpCode: health.httpCode },
    LoadBalancerArns: loadBalancersOf(scope, row.id),
    TargetType: row.targetType,
    IpAddressType: "ipv4",
  };
}

export const targetGroupLooks = {
  DescribeTargetGroups: describeTargetGroups,
  DescribeTargetGroupAttributes: describeAttributes,
};
export const targetGroupChanges = {
  CreateTargetGroup: createTargetGroup,
  ModifyTargetGroup: modifyTargetGroup,
  ModifyTargetGroupAttributes: modifyAttributes,
  DeleteTargetGroup: deleteTargetGroup,
};
