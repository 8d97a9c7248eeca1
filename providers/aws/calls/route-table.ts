import type { Route, RouteTable } from "@aws-sdk/client-ec2";
import { isJsonObject, type Json, type JsonObject, sameJson } from "../../../src/api/json.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { MachineCalls } from "../../../src/provider/definition.js";
import { present } from "../../../src/provider/host-spec.js";
import type { CallContext, Found } from "../../../src/provider/port.js";
import { ifThere } from "./ask.js";
import {
  type AskEc2,
  type Ec2Kind,
  filters,
  lookingCalls,
  must,
  putTags,
  tagged,
  text,
  texts,
  updateTags,
} from "./ec2-kind.js";
import { clusterTag, inOrder, orderTags, shownTags, whoOf } from "./marks.js";

/** Routes through gateways: those to hosts are made by controllers in the cluster. */
function shownRoutes(routes: readonly Route[]): JsonObject[] {
  return routes
    .filter(({ GatewayId, NatGatewayId }) =>
      NatGatewayId === undefined ? (GatewayId ?? "").startsWith("igw-") : true,
    )
    .map(({ DestinationCidrBlock = "", GatewayId, NatGatewayId }) =>
      present({
        to: DestinationCidrBlock,
        gatewayId: NatGatewayId === undefined ? GatewayId : undefined,
        natGatewayId: NatGatewayId,
      }),
    )
    .sort((one, other) => (String(one["to"]) < String(other["to"]) ? -1 : 1));
}

function shownTable({
  RouteTableId,
  VpcId,
  Routes = [],
  Associations = [],
  Tags,
}: RouteTable): Found {
  const subnetIds = Associations.flatMap(({ SubnetId }) => SubnetId ?? []);
  return omitUndefined<Found>({
    id: must(RouteTableId, "RouteTableId"),
    who: whoOf(Tags),
    phase: "ready",
    spec: present({
      vpcId: VpcId,
      routes: shownRoutes(Routes),
      subnetIds: inOrder(subnetIds, Tags),
      tags: shownTags(Tags),
    }),
    status: {},
  });
}

function tableKind(ask: AskEc2): Ec2Kind {
  return {
    idFilter: "route-table-id",
    async page(ctx, query) {
      const { RouteTables = [], NextToken } = await ask(
        ctx,
        "DescribeRouteTables",
        (ec2, options) => ec2.describeRouteTables({ ...query, MaxResults: 100 }, options),
      );
      return { resources: RouteTables.map(shownTable), next: NextToken };
    },
  };
}

/** The token is EC2's own. Its routes, and which subnets it counts for, are the work of update. */
export function routeTableCalls(ask: AskEc2): MachineCalls {
  return {
    ...lookingCalls(ask, tableKind(ask)),
    tokensLast: true,
    async create(ctx, who, spec) {
      const order = texts(spec, "subnetIds");
      const wanted = {
        VpcId: text(spec, "vpcId"),
        ClientToken: who.token,
        ...tagged("route-table", who, { tags: spec["tags"], order, more: clusterTag(who) }),
      };
      const { RouteTable } = await ask(ctx, "CreateRouteTable", (ec2, options) =>
        ec2.createRouteTable(wanted, options),
      );
      return { ...shownTable(must(RouteTable, "RouteTable")), who };
    },
    async update(ctx, current, spec) {
      await updateRoutes(ask, ctx, current.id, {
        from: routesIn(current.spec),
        to: routesIn(spec),
      });
      await updateSubnets(ask, ctx, current.id, texts(spec, "subnetIds"));
      await updateTags(ask, ctx, current, spec);
      return { ...current, spec };
    },
    async remove(ctx, { id }) {
      await updateSubnets(ask, ctx, id, []);
      await ifThere(
        ask(ctx, "DeleteRouteTable", (ec2, options) =>
          ec2.deleteRouteTable({ RouteTableId: id }, options),
        ),
      );
    },
  };
}

function routesIn({ routes }: JsonObject): readonly JsonObject[] {
  return Array.isArray(routes) ? routes.filter((one: Json) => isJsonObject(one)) : [];
}

async function updateRoutes(
  ask: AskEc2,
  ctx: CallContext,
  RouteTableId: string,
  { from, to }: { readonly from: readonly JsonObject[]; readonly to: readonly JsonObject[] },
): Promise<void> {
  const sameTo = (routes: readonly JsonObject[], one: JsonObject) =>
    routes.find((other) => other["to"] === one["to"]);
  for (const one of from.filter((route) => sameTo(to, route) === undefined)) {
    const route = { RouteTableId, DestinationCidrBlock: text(one, "to") };
    await ifThere(ask(ctx, "DeleteRoute", (ec2, options) => ec2.deleteRoute(route, options)));
  }
  for (const one of to) {
    const before = sameTo(from, one);
    if (sameJson(before, one)) continue;
    const { gatewayId, natGatewayId } = one;
    const route = omitUndefined<RouteRequest>({
      RouteTableId,
      DestinationCidrBlock: text(one, "to"),
      GatewayId: typeof gatewayId === "string" ? gatewayId : undefined,
      NatGatewayId: typeof natGatewayId === "string" ? natGatewayId : undefined,
    });
    await (before === undefined
      ? ask(ctx, "CreateRoute", (ec2, options) => ec2.createRoute(route, options))
      : ask(ctx, "ReplaceRoute", (ec2, options) => ec2.replaceRoute(route, options)));
  }
}

interface RouteRequest {
  readonly RouteTableId: string;
  readonly DestinationCidrBlock: string;
  readonly GatewayId?: string;
  readonly NatGatewayId?: string;
}

/** Associations have ids of their own, which nobody records. */
async function updateSubnets(
  ask: AskEc2,
  ctx: CallContext,
  id: string,
  wanted: readonly string[],
): Promise<void> {
  const Filters = filters({ "route-table-id": [id] });
  const { RouteTables: [table] = [] } = await ask(ctx, "DescribeRouteTables", (ec2, options) =>
    ec2.describeRouteTables({ Filters }, options),
  );
  const associations = (table?.Associations ?? []).filter(({ SubnetId }) => SubnetId !== undefined);
  for (const { SubnetId = "", RouteTableAssociationId: AssociationId } of associations) {
    if (wanted.includes(SubnetId)) continue;
    await ifThere(
      ask(ctx, "DisassociateRouteTable", (ec2, options) =>
        ec2.disassociateRouteTable({ AssociationId }, options),
      ),
    );
  }
  const known = associations.map(({ SubnetId }) => SubnetId);
  const missing = wanted.filter((SubnetId) => !known.includes(SubnetId));
  for (const SubnetId of missing) {
    await ask(ctx, "AssociateRouteTable", (ec2, options) =>
      ec2.associateRouteTable({ RouteTableId: id, SubnetId }, options),
    );
  }
  if (missing.length > 0) await putTags(ask, ctx, id, orderTags(wanted));
}
