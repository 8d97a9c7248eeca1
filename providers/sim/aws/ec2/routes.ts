// Routes of route tables.

import { ApiError, invalidValue } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { Handler, Scope } from "../model/scope.js";
import type { RouteRow, RouteTableRow, RouteTarget } from "../model/tables.js";
import { mustGet } from "./kinds.js";
import { normalRange } from "./ranges.js";

const createRoute: Handler = (scope, params) => {
  const table = mustGet(scope, "routeTables", params.required("RouteTableId"));
  const destination = destinationOf(params);
  const target = targetOf(scope, table, params);
  if (routeTo(table, destination) !== undefined) {
    throw new ApiError(
      "RouteAlreadyExists",
      `The route identified by ${destination} already exists.`,
    );
  }
  if (table.routes.length >= scope.settings.quotas.routesPerTable) {
    throw new ApiError("RouteLimitExceeded", "The maximum number of routes has been reached.");
  }
  scope.db.put("routeTables", { ...table, routes: [...table.routes, { destination, target }] });
  return { return: true };
};

const replaceRoute: Handler = (scope, params) => {
  const table = mustGet(scope, "routeTables", params.required("RouteTableId"));
  const destination = destinationOf(params);
  const target = targetOf(scope, table, params);
  if (routeTo(table, destination) === undefined) {
    throw invalidValue(
      `There is no route defined for '${destination}' in the route table. Use CreateRoute instead.`,
    );
  }
  const routes = table.routes.map((route) =>
    route.destination === destination ? { destination, target } : route,
  );
  scope.db.put("routeTables", { ...table, routes });
  return { return: true };
};

const deleteRoute: Handler = (scope, params) => {
  const table = mustGet(scope, "routeTables", params.required("RouteTableId"));
  const destination = destinationOf(params);
  const route = routeTo(table, destination);
  if (route === undefined) {
    throw new ApiError(
      "InvalidRoute.NotFound",
      `no route with destination-cidr-block ${destination} in route table ${table.id}`,
    );
  }
  if (route.target.kind === "local") {
    throw invalidValue(`cannot remove local route ${destination} in route table ${table.id}`);
  }
  const routes = table.routes.filter((one) => one !== route);
  scope.db.put("routeTables", { ...table, routes });
  return { return: true };
};

function routeTo({ routes }: RouteTableRow, destination: string): RouteRow | undefined {
  return routes.find((route) => route.destination === destination);
}

function destinationOf(params: Params): string {
  const ipv6 = params.text("DestinationIpv6CidrBlock");
  return ipv6 ?? normalRange(params.required("DestinationCidrBlock"));
}

function targetOf(scope: Scope, table: RouteTableRow, params: Params): RouteTarget {
  const asked = {
    gateway: params.text("GatewayId"),
    natGateway: params.text("NatGatewayId"),
    instance: params.text("InstanceId"),
    networkInterface: params.text("NetworkInterfaceId"),
  };
  const given = Object.entries(asked).filter(([, id]) => id !== undefined);
  const [[kind, id] = ["", ""]] = given;
  if (given.length !== 1 || id === undefined) {
    throw new ApiError(
      given.length === 0 ? "MissingParameter" : "InvalidParameterCombination",
      "The request must contain exactly one of gatewayId, natGatewayId, networkInterfaceId, instanceId",
    );
  }
  const target = { kind, id } as RouteTarget;
  if (vpcOfTarget(scope, target) !== table.vpcId) {
    throw invalidValue(
      `route table ${table.id} and network gateway ${id} belong to different networks`,
    );
  }
  return target;
}

/** Throws where there is no such target. */
function vpcOfTarget(scope: Scope, { kind, id }: RouteTarget): string | undefined {
  switch (kind) {
    case "gateway":
      return mustHaveGateway(scope, id).vpcId;
    case "natGateway":
      return mustHaveNat(scope, id).vpcId;
    case "instance":
      return mustGet(scope, "instances", id).vpcId;
    case "networkInterface":
      return mustGet(scope, "interfaces", id).vpcId;
    case "local":
      return undefined;
  }
}

/** Routes call missing gateways otherwise than gateways' own calls do. */
function mustHaveGateway({ db }: Scope, id: string) {
  const row = db.get("internetGateways", id);
  if (row !== undefined) return row;
  throw new ApiError("InvalidGatewayID.NotFound", `The gateway ID '${id}' does not exist`);
}

function mustHaveNat({ db }: Scope, id: string) {
  const row = db.get("natGateways", id);
  if (row !== undefined && row.state !== "deleting" && row.state !== "deleted") return row;
  throw new ApiError("InvalidNatGatewayID.NotFound", `The natGateway ID '${id}' does not exist`);
}

/** Whether there is anything where a route leads to; otherwise it is a black hole. */
export function isRouteActive({ target }: RouteRow, { db }: Scope): boolean {
  switch (target.kind) {
    case "local":
      return true;
    case "gateway":
      return db.get("internetGateways", target.id)?.vpcId !== undefined;
    case "natGateway": {
      const state = db.get("natGateways", target.id)?.state;
      return state === "available" || state === "pending";
    }
    case "instance":
      return db.get("instances", target.id)?.state === "running";
    case "networkInterface":
      return db.get("interfaces", target.id) !== undefined;
  }
}

export const routeChanges = {
  CreateRoute: createRoute,
  ReplaceRoute: replaceRoute,
  DeleteRoute: deleteRoute,
};
