import type { NatGateway, Route, RouteTable } from "@aws-sdk/client-ec2";
import type { CallContext } from "../../../src/provider/port.js";
import { eachPage } from "./ask.js";
import { type AskEc2, filters } from "./ec2-kind.js";

/** How hosts of a subnet reach the Internet, and with which public addresses, as far as AWS tells these. */
export type EgressWay =
  | { readonly kind: "nat"; readonly addresses: readonly string[] }
  /** `through`: id of an Internet gateway, a transit gateway, an instance and so on. */
  | { readonly kind: "other"; readonly through: string }
  | { readonly kind: "none" };

const everywhere = "0.0.0.0/0";

/** The way out of each of some subnets that are there, by the subnet's id. A subnet that does not exist has none. */
export async function waysOut(
  ask: AskEc2,
  ctx: CallContext,
  subnetIds: readonly string[],
): Promise<ReadonlyMap<string, EgressWay>> {
  const Filters = filters({ "subnet-id": subnetIds });
  const { Subnets = [] } = await ask(ctx, "DescribeSubnets", (ec2, options) =>
    ec2.describeSubnets({ Filters }, options),
  );
  const vpcs = [...new Set(Subnets.flatMap(({ VpcId }) => VpcId ?? []))];
  if (vpcs.length === 0) return new Map();
  const tables = await routeTablesIn(ask, ctx, vpcs);
  const nats = new Map(
    (await natsIn(ask, ctx, vpcs)).map((nat) => [nat.NatGatewayId ?? "", natAddresses(nat)]),
  );
  return new Map(
    Subnets.map(({ SubnetId = "", VpcId }) => [
      SubnetId,
      wayOf(routesOf(tables, SubnetId, VpcId), nats),
    ]),
  );
}

function wayOf(routes: readonly Route[], nats: ReadonlyMap<string, readonly string[]>): EgressWay {
  const route = routes.find(({ DestinationCidrBlock }) => DestinationCidrBlock === everywhere);
  if (route === undefined || route.State === "blackhole") return { kind: "none" };
  const { NatGatewayId } = route;
  // A private NAT gateway translates to addresses of the VPC: what is behind it has the public one.
  const addresses = nats.get(NatGatewayId ?? "") ?? [];
  if (addresses.length > 0) return { kind: "nat", addresses };
  const targets = [
    NatGatewayId,
    route.GatewayId,
    route.TransitGatewayId,
    route.VpcPeeringConnectionId,
    route.NetworkInterfaceId,
    route.LocalGatewayId,
    route.CarrierGatewayId,
  ];
  return { kind: "other", through: targets.find((one) => one !== undefined) ?? "another gateway" };
}

/** The public addresses of a NAT gateway, in their order; none of a private one. Pure. */
export function natAddresses({ NatGatewayAddresses = [] }: NatGateway): string[] {
  return NatGatewayAddresses.flatMap(({ PublicIp }) => PublicIp ?? []);
}

/** The NAT gateways of some VPCs that are available. */
export async function natsIn(
  ask: AskEc2,
  ctx: CallContext,
  vpcIds: readonly string[],
): Promise<NatGateway[]> {
  const Filter = filters({ "vpc-id": vpcIds, state: ["available"] });
  const pages = eachPage(async (NextToken) => {
    const answer = await ask(ctx, "DescribeNatGateways", (ec2, options) =>
      ec2.describeNatGateways({ Filter, NextToken }, options),
    );
    return { items: answer.NatGateways ?? [], next: answer.NextToken };
  });
  return itemsOf(pages);
}

/** The route tables of some VPCs. */
export async function routeTablesIn(
  ask: AskEc2,
  ctx: CallContext,
  vpcIds: readonly string[],
): Promise<RouteTable[]> {
  const Filters = filters({ "vpc-id": vpcIds });
  const pages = eachPage(async (NextToken) => {
    const answer = await ask(ctx, "DescribeRouteTables", (ec2, options) =>
      ec2.describeRouteTables({ Filters, NextToken }, options),
    );
    return { items: answer.RouteTables ?? [], next: answer.NextToken };
  });
  return itemsOf(pages);
}

async function itemsOf<Item>(
  pages: AsyncIterable<{ readonly items: readonly Item[] }>,
): Promise<Item[]> {
  const found: Item[] = [];
  for await (const { items } of pages) found.push(...items);
  return found;
}

/** The routes of a subnet: those of its table, or of the main one of its VPC. Pure. */
export function routesOf(
  tables: readonly RouteTable[],
  subnetId: string,
  vpcId: string | undefined,
): readonly Route[] {
  const own = tables.find(({ Associations = [] }) =>
    Associations.some(({ SubnetId }) => SubnetId === subnetId),
  );
  const main = tables.find(
    ({ VpcId, Associations = [] }) => VpcId === vpcId && Associations.some(({ Main }) => Main),
  );
  return (own ?? main)?.Routes ?? [];
}
