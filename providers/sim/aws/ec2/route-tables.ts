// Route tables, and which subnets they are for.

import { omitUndefined } from "../../../../src/api/omit-undefined.js";
import { ApiError, dependencyViolation, invalidValue } from "../protocol/api-error.js";
import type { WireObject } from "../protocol/xml.js";
import { type Handler, newId, onceByToken, type Scope } from "../model/scope.js";
import type { RouteRow, RouteTableRow } from "../model/tables.js";
import { mustGet } from "./kinds.js";
import { describer } from "./listing.js";
import { isRouteActive } from "./routes.js";
import { tagSet, tagsOfNew } from "./tagging.js";

const createRouteTable: Handler = (scope, params) => {
  const id = onceByToken(scope, "CreateRouteTable", params, (clientToken) => {
    const vpc = mustGet(scope, "vpcs", params.required("VpcId"));
    const siblings = scope.db.all("routeTables").filter(({ vpcId }) => vpcId === vpc.id);
    if (siblings.length >= scope.settings.quotas.routeTablesPerVpc) {
      throw new ApiError(
        "RouteTableLimitExceeded",
        "The maximum number of route tables has been reached.",
      );
    }
    const row = omitUndefined<RouteTableRow>({
      id: newId(scope, "rtb"),
      tags: tagsOfNew(scope, params, "routeTables"),
      vpcId: vpc.id,
      routes: [{ destination: vpc.cidr, target: { kind: "local", id: "local" } }],
      associations: [],
      clientToken,
    });
    scope.db.put("routeTables", row);
    return row.id;
  });
  const row = mustGet(scope, "routeTables", id);
  return { routeTable: wireOf(row, scope), clientToken: row.clientToken };
};

const deleteRouteTable: Handler = (scope, params) => {
  const { id, associations } = mustGet(scope, "routeTables", params.required("RouteTableId"));
  if (associations.length > 0) {
    throw dependencyViolation(`The routeTable '${id}' has dependencies and cannot be deleted.`);
  }
  scope.db.remove("routeTables", id);
  return { return: true };
};

const associateRouteTable: Handler = (scope, params) => {
  const table = mustGet(scope, "routeTables", params.required("RouteTableId"));
  const subnet = mustGet(scope, "subnets", params.required("SubnetId"));
  if (subnet.vpcId !== table.vpcId) {
    throw invalidValue(
      `Route table ${table.id} and subnet ${subnet.id} belong to different networks`,
    );
  }
  const isTaken = scope.db
    .all("routeTables")
    .some(({ associations }) => associations.some(({ subnetId }) => subnetId === subnet.id));
  if (isTaken) {
    throw new ApiError(
      "Resource.AlreadyAssociated",
      `the specified association for route table ${table.id} conflicts with an existing association`,
    );
  }
  const id = newId(scope, "rtbassoc");
  const associations = [...table.associations, { id, subnetId: subnet.id }];
  scope.db.put("routeTables", { ...table, associations });
  return { associationId: id, associationState: { state: "associated" } };
};

const disassociateRouteTable: Handler = (scope, params) => {
  const { table, association } = associated(scope, params.required("AssociationId"));
  if (association.subnetId === undefined) {
    throw invalidValue(`cannot disassociate the main route table association ${association.id}`);
  }
  const associations = table.associations.filter(({ id }) => id !== association.id);
  scope.db.put("routeTables", { ...table, associations });
  return { return: true };
};

const replaceAssociation: Handler = (scope, params) => {
  const { table, association } = associated(scope, params.required("AssociationId"));
  const next = mustGet(scope, "routeTables", params.required("RouteTableId"));
  if (next.vpcId !== table.vpcId) {
    throw invalidValue(`Route tables ${table.id} and ${next.id} belong to different networks`);
  }
  const id = newId(scope, "rtbassoc");
  const kept = table.associations.filter((one) => one.id !== association.id);
  scope.db.put("routeTables", { ...table, associations: kept });
  const { associations } = mustGet(scope, "routeTables", next.id);
  scope.db.put("routeTables", { ...next, associations: [...associations, { ...association, id }] });
  return { newAssociationId: id, associationState: { state: "associated" } };
};

function associated(scope: Scope, id: string) {
  for (const table of scope.db.all("routeTables")) {
    const association = table.associations.find((one) => one.id === id);
    if (association !== undefined) return { table, association };
  }
  throw new ApiError("InvalidAssociationID.NotFound", `The association ID '${id}' does not exist`);
}

function wireOf(row: RouteTableRow, scope: Scope): WireObject {
  const { id, vpcId, routes, associations, tags } = row;
  return {
    routeTableId: id,
    vpcId,
    ownerId: scope.account,
    routeSet: routes.map((route) => routeWire(route, scope)),
    associationSet: associations.map((association) => ({
      routeTableAssociationId: association.id,
      routeTableId: id,
      subnetId: association.subnetId,
      main: association.subnetId === undefined,
      associationState: { state: "associated" },
    })),
    propagatingVgwSet: [],
    tagSet: tagSet(tags),
  };
}

function routeWire(route: RouteRow, scope: Scope): WireObject {
  const { destination, target } = route;
  const isIpv6 = destination.includes(":");
  const id = (...kinds: readonly string[]) => (kinds.includes(target.kind) ? target.id : undefined);
  return {
    destinationCidrBlock: isIpv6 ? undefined : destination,
    destinationIpv6CidrBlock: isIpv6 ? destination : undefined,
    gatewayId: id("local", "gateway"),
    natGatewayId: id("natGateway"),
    instanceId: id("instance"),
    networkInterfaceId: id("networkInterface"),
    state: isRouteActive(route, scope) ? "active" : "blackhole",
    origin: target.kind === "local" ? "CreateRouteTable" : "CreateRoute",
  };
}

export const routeTableLooks = {
  DescribeRouteTables: describer({
    table: "routeTables",
    ids: "RouteTableId",
    set: "routeTableSet",
    filters: {
      "route-table-id": ({ id }) => [id],
      "vpc-id": ({ vpcId }) => [vpcId],
      "association.main": ({ associations }) =>
        associations.map(({ subnetId }) => String(subnetId === undefined)),
      "association.subnet-id": ({ associations }) => associations.map(({ subnetId }) => subnetId),
      "association.route-table-association-id": ({ associations }) =>
        associations.map(({ id }) => id),
      "association.route-table-id": ({ id, associations }) => associations.map(() => id),
      "route.destination-cidr-block": ({ routes }) => routes.map(({ destination }) => destination),
      "route.gateway-id": ({ routes }) =>
        routes.map(({ target }) =>
          target.kind === "gateway" || target.kind === "local" ? target.id : undefined,
        ),
      "route.nat-gateway-id": ({ routes }) =>
        routes.map(({ target }) => (target.kind === "natGateway" ? target.id : undefined)),
      "owner-id": (_, { account }) => [account],
    },
    wire: wireOf,
  }),
};
export const routeTableChanges = {
  CreateRouteTable: createRouteTable,
  DeleteRouteTable: deleteRouteTable,
  AssociateRouteTable: associateRouteTable,
  DisassociateRouteTable: disassociateRouteTable,
  ReplaceRouteTableAssociation: replaceAssociation,
};
