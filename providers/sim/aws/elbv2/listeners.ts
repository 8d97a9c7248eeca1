// Listeners: each leads a port of a load balancer to a target group.

import { type Handler, later, type Scope } from "../model/scope.js";
import type { ListenerRow } from "../model/tables.js";
import { ApiError } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { WireObject } from "../protocol/xml.js";
import { elbPage, tagsGiven, validationError } from "./elb-basics.js";
import { mustHaveLoadBalancer } from "./load-balancers.js";
import { mustHaveTargetGroup } from "./target-groups.js";

const createListener: Handler = (scope, params) => {
  const { id: loadBalancerArn } = mustHaveLoadBalancer(scope, params.required("LoadBalancerArn"));
  const protocol = params.required("Protocol");
  const port = params.number("Port");
  if (port === undefined || port < 1 || port > 65_535)
    throw validationError("A port must be specified, from 1 to 65535");
  const targetGroupArn = targetGroupOf(scope, params, protocol);
  const tags = tagsGiven(params);
  const before = scope.db
    .all("listeners")
    .find((one) => one.loadBalancerArn === loadBalancerArn && one.port === port);
  if (before !== undefined) {
    if (before.protocol === protocol && before.targetGroupArn === targetGroupArn) {
      return { Listeners: [wireOf(before)] };
    }
    throw new ApiError(
      "DuplicateListener",
      `A listener already exists on this port for this load balancer '${loadBalancerArn}'`,
    );
  }
  const path = loadBalancerArn.replace(":loadbalancer/", ":listener/");
  const row: ListenerRow = {
    id: `${path}/${scope.digits(16)}`,
    loadBalancerArn,
    protocol,
    port,
    targetGroupArn,
    tags,
  };
  scope.db.put("listeners", row);
  beginChecks(scope, targetGroupArn);
  return { Listeners: [wireOf(row)] };
};

/** Targets of a group are looked at from now on, since something leads to them. */
function beginChecks(scope: Scope, targetGroupArn: string): void {
  for (const target of scope.db.all("targets")) {
    if (target.targetGroupArn !== targetGroupArn || target.state !== "initial") continue;
    later(scope, "targetIsHealthy", target.id, scope.settings.durations.targetMs);
  }
}

function targetGroupOf(scope: Scope, params: Params, protocol: string): string {
  const [action, ...more] = params.objects("DefaultActions");
  if (action === undefined || more.length > 0)
    throw validationError("A listener has exactly one default action");
  if (action.required("Type") !== "forward") {
    throw validationError("A listener of a network load balancer has an action of type forward");
  }
  action.ignore("Order");
  const [only] = action.object("ForwardConfig")?.objects("TargetGroups") ?? [];
  only?.ignore("Weight");
  const arn = action.text("TargetGroupArn") ?? only?.required("TargetGroupArn");
  if (arn === undefined) throw validationError("An action of type forward needs a target group");
  const group = mustHaveTargetGroup(scope, arn);
  if (group.protocol === protocol || (protocol === "TLS" && group.protocol === "TCP")) return arn;
  throw new ApiError(
    "InvalidConfigurationRequest",
    `Listener protocol '${protocol}' is not supported with a target group with the target type '${group.targetType}' and the protocol '${group.protocol}'`,
  );
}

const modifyListener: Handler = (scope, params) => {
  const row = mustHaveListener(scope, params.required("ListenerArn"));
  const protocol = params.text("Protocol") ?? row.protocol;
  const port = params.number("Port") ?? row.port;
  const hasAction = params.objects("DefaultActions").length > 0;
  const targetGroupArn = hasAction ? targetGroupOf(scope, params, protocol) : row.targetGroupArn;
  const changed = { ...row, protocol, port, targetGroupArn };
  scope.db.put("listeners", changed);
  return { Listeners: [wireOf(changed)] };
};

const deleteListener: Handler = (scope, params) => {
  const { id } = mustHaveListener(scope, params.required("ListenerArn"));
  scope.db.remove("listeners", id);
  return {};
};

const describeListeners: Handler = (scope, params) => {
  const arns = params.texts("ListenerArns");
  const of = params.text("LoadBalancerArn");
  if (of === undefined && arns.length === 0) {
    throw validationError("You must specify either listener ARNs or a load balancer ARN");
  }
  const rows =
    of === undefined
      ? arns.map((arn) => mustHaveListener(scope, arn))
      : listenersOf(scope, mustHaveLoadBalancer(scope, of).id);
  const { items, nextMarker } = elbPage(rows, params);
  return { Listeners: items.map(wireOf), NextMarker: nextMarker };
};

function listenersOf({ db }: Scope, arn: string): ListenerRow[] {
  return db.all("listeners").filter(({ loadBalancerArn }) => loadBalancerArn === arn);
}

/** Throws ListenerNotFound. */
function mustHaveListener({ db }: Scope, arn: string): ListenerRow {
  const row = db.get("listeners", arn);
  if (row !== undefined) return row;
  throw new ApiError("ListenerNotFound", "One or more listeners not found");
}

function wireOf({ id, loadBalancerArn, protocol, port, targetGroupArn }: ListenerRow): WireObject {
  return {
    ListenerArn: id,
    LoadBalancerArn: loadBalancerArn,
    Port: port,
    Protocol: protocol,
    DefaultActions: [
      {
        Type: "forward",
        TargetGroupArn: targetGroupArn,
        ForwardConfig: { TargetGroups: [{ TargetGroupArn: targetGroupArn }] },
      },
    ],
  };
}

export const listenerLooks = { DescribeListeners: describeListeners };
export const listenerChanges = {
  CreateListener: createListener,
  ModifyListener: modifyListener,
  DeleteListener: deleteListener,
};
