// The kinds of things that EC2 has: how their ids begin, and what it says of one that is not there.

import { ApiError } from "../protocol/api-error.js";
import type { Scope } from "../model/scope.js";
import type { RegionTables, Tags } from "../model/tables.js";

interface KindTraits {
  /** What ids begin with. */
  readonly prefix: string;
  /** In tag specifications and in DescribeTags. */
  readonly type: string;
  readonly notFound: { readonly code: string; readonly says: (id: string) => string };
  /** Where EC2 looks at the form of an id first. */
  readonly malformed?: string;
}

/** Tables of EC2 whose records bear tags. */
export type Ec2Table =
  | "vpcs"
  | "subnets"
  | "internetGateways"
  | "addresses"
  | "natGateways"
  | "routeTables"
  | "groups"
  | "rules"
  | "interfaces"
  | "instances"
  | "volumes"
  | "images"
  | "keyPairs";

const does = (what: string) => (id: string) => `The ${what} '${id}' does not exist`;

const kinds: Readonly<Record<Ec2Table, KindTraits>> = {
  vpcs: {
    prefix: "vpc",
    type: "vpc",
    notFound: { code: "InvalidVpcID.NotFound", says: does("vpc ID") },
  },
  subnets: {
    prefix: "subnet",
    type: "subnet",
    notFound: { code: "InvalidSubnetID.NotFound", says: does("subnet ID") },
  },
  internetGateways: {
    prefix: "igw",
    type: "internet-gateway",
    notFound: { code: "InvalidInternetGatewayID.NotFound", says: does("internetGateway ID") },
  },
  addresses: {
    prefix: "eipalloc",
    type: "elastic-ip",
    notFound: { code: "InvalidAllocationID.NotFound", says: does("allocation ID") },
  },
  natGateways: {
    prefix: "nat",
    type: "natgateway",
    notFound: {
      code: "NatGatewayNotFound",
      says: (id) => `The Nat Gateway ${id} was not found`,
    },
    malformed: "NatGatewayMalformed",
  },
  routeTables: {
    prefix: "rtb",
    type: "route-table",
    notFound: { code: "InvalidRouteTableID.NotFound", says: does("routeTable ID") },
    malformed: "InvalidRouteTableId.Malformed",
  },
  groups: {
    prefix: "sg",
    type: "security-group",
    notFound: { code: "InvalidGroup.NotFound", says: does("security group") },
    malformed: "InvalidGroupId.Malformed",
  },
  rules: {
    prefix: "sgr",
    type: "security-group-rule",
    notFound: { code: "InvalidSecurityGroupRuleId.NotFound", says: does("security group rule ID") },
    malformed: "InvalidSecurityGroupRuleId.Malformed",
  },
  interfaces: {
    prefix: "eni",
    type: "network-interface",
    notFound: { code: "InvalidNetworkInterfaceID.NotFound", says: does("networkInterface ID") },
    malformed: "InvalidNetworkInterfaceId.Malformed",
  },
  instances: {
    prefix: "i",
    type: "instance",
    notFound: { code: "InvalidInstanceID.NotFound", says: does("instance ID") },
    malformed: "InvalidInstanceID.Malformed",
  },
  volumes: {
    prefix: "vol",
    type: "volume",
    notFound: {
      code: "InvalidVolume.NotFound",
      says: (id) => `The volume '${id}' does not exist.`,
    },
    malformed: "InvalidVolumeID.Malformed",
  },
  images: {
    prefix: "ami",
    type: "image",
    notFound: {
      code: "InvalidAMIID.NotFound",
      says: (id) => `The image id '[${id}]' does not exist`,
    },
    malformed: "InvalidAMIID.Malformed",
  },
  keyPairs: {
    prefix: "key",
    type: "key-pair",
    notFound: { code: "InvalidKeyPair.NotFound", says: does("key pair") },
  },
};

export const ec2Tables = Object.keys(kinds) as readonly Ec2Table[];

/** What tags call the things of a table, e.g. "internet-gateway". */
export function resourceTypeOf(table: Ec2Table): string {
  return kinds[table].type;
}

/** The table whose ids look like this one; undefined: none. */
export function tableOfId(id: string): Ec2Table | undefined {
  const prefix = id.slice(0, id.lastIndexOf("-"));
  return ec2Tables.find((table) => kinds[table].prefix === prefix);
}

/** The error for things that are not there, or whose ids are none. */
export function notFound(table: Ec2Table, ...ids: readonly string[]): ApiError {
  const { prefix, malformed, notFound: missing } = kinds[table];
  const odd = ids.find((id) => !new RegExp(`^${prefix}-([0-9a-f]{8}|[0-9a-f]{17})$`).test(id));
  if (malformed !== undefined && odd !== undefined) {
    return new ApiError(malformed, `Invalid id: "${odd}" (expecting "${prefix}-...")`);
  }
  const [only = ""] = ids;
  if (ids.length < 2) return new ApiError(missing.code, missing.says(only));
  return new ApiError(
    missing.code,
    `The ${kinds[table].type} IDs '${ids.join(", ")}' do not exist`,
  );
}

/** The record with this id. Throws the error of its kind where there is none. */
export function mustGet<K extends Ec2Table>(scope: Scope, table: K, id: string): RegionTables[K] {
  const row = scope.db.get(table, id);
  if (row === undefined) throw notFound(table, id);
  return row;
}

/** The record with the same id gets other tags. */
export function withTags(scope: Scope, table: Ec2Table, id: string, tags: Tags): void {
  const row = scope.db.get(table, id);
  if (row !== undefined) scope.db.put(table, { ...row, tags });
}
