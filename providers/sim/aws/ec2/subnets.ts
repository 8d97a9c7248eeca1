// Subnets: each in one zone, with a range of its own of the VPC's.

import { ApiError, dependencyViolation, invalidValue } from "../protocol/api-error.js";
import type { WireObject } from "../protocol/xml.js";
import { type Handler, newId, type Scope } from "../model/scope.js";
import type { SubnetRow } from "../model/tables.js";
import { mustGet } from "./kinds.js";
import { describer } from "./listing.js";
import { holdsRange, normalRange, overlap, rangeOf, usableAddresses } from "./ranges.js";
import { tagSet, tagsOfNew } from "./tagging.js";
import { ec2Arn, zoneIdOf, zonesOf } from "./zones.js";

const createSubnet: Handler = (scope, params) => {
  const vpc = mustGet(scope, "vpcs", params.required("VpcId"));
  const cidr = checkedRange(scope, vpc, params.required("CidrBlock"));
  const zone = zoneOf(scope, params.text("AvailabilityZone"), params.text("AvailabilityZoneId"));
  const siblings = scope.db.all("subnets").filter(({ vpcId }) => vpcId === vpc.id);
  if (siblings.length >= scope.settings.quotas.subnetsPerVpc) {
    throw new ApiError("SubnetLimitExceeded", "The maximum number of subnets has been reached.");
  }
  const row: SubnetRow = {
    id: newId(scope, "subnet"),
    tags: tagsOfNew(scope, params, "subnets"),
    vpcId: vpc.id,
    cidr,
    zone,
    isDefault: false,
    mapPublicIp: false,
  };
  scope.db.put("subnets", row);
  return { subnet: wireOf(row, scope) };
};

function checkedRange(
  scope: Scope,
  vpc: { readonly id: string; readonly cidr: string },
  asked: string,
): string {
  const { bits } = rangeOf(asked);
  const cidr = normalRange(asked);
  if (bits < 16 || bits > 28 || !holdsRange(vpc.cidr, cidr)) {
    throw new ApiError("InvalidSubnet.Range", `The CIDR '${asked}' is invalid.`);
  }
  const siblings = scope.db.all("subnets").filter(({ vpcId }) => vpcId === vpc.id);
  if (siblings.some((sibling) => overlap(sibling.cidr, cidr))) {
    throw new ApiError(
      "InvalidSubnet.Conflict",
      `The CIDR '${asked}' conflicts with another subnet`,
    );
  }
  return cidr;
}

/** By name or id; one of the region's own choice where neither is given. */
function zoneOf({ region }: Scope, name: string | undefined, id: string | undefined): string {
  const zones = zonesOf(region);
  if (name === undefined && id === undefined) return zones[0] ?? "";
  const zone = zones.find((one) => one === name || zoneIdOf(one) === id);
  if (zone !== undefined) return zone;
  throw invalidValue(
    `Value (${name ?? id ?? ""}) for parameter availabilityZone is invalid. Subnets can currently only be created in the following availability zones: ${zones.join(", ")}.`,
  );
}

const deleteSubnet: Handler = (scope, params) => {
  const { id } = mustGet(scope, "subnets", params.required("SubnetId"));
  const { db } = scope;
  if (db.all("interfaces").some(({ subnetId }) => subnetId === id)) {
    throw dependencyViolation(`The subnet '${id}' has dependencies and cannot be deleted.`);
  }
  for (const table of db.all("routeTables")) {
    const associations = table.associations.filter(({ subnetId }) => subnetId !== id);
    if (associations.length < table.associations.length) {
      db.put("routeTables", { ...table, associations });
    }
  }
  db.remove("subnets", id);
  return { return: true };
};

const modifySubnetAttribute: Handler = (scope, params) => {
  const row = mustGet(scope, "subnets", params.required("SubnetId"));
  const mapPublicIp = params.object("MapPublicIpOnLaunch")?.flag("Value");
  if (mapPublicIp === undefined)
    throw new ApiError("InvalidRequest", "The request received was invalid");
  scope.db.put("subnets", { ...row, mapPublicIp });
  return { return: true };
};

function wireOf(row: SubnetRow, scope: Scope): WireObject {
  const { id, vpcId, cidr, zone, isDefault, mapPublicIp, tags } = row;
  return {
    subnetId: id,
    subnetArn: ec2Arn(scope, "subnet", id),
    state: "available",
    ownerId: scope.account,
    vpcId,
    cidrBlock: cidr,
    ipv6CidrBlockAssociationSet: [],
    assignIpv6AddressOnCreation: false,
    availableIpAddressCount: freeAddresses(row, scope),
    availabilityZone: zone,
    availabilityZoneId: zoneIdOf(zone),
    defaultForAz: isDefault,
    mapPublicIpOnLaunch: mapPublicIp,
    mapCustomerOwnedIpOnLaunch: false,
    enableDns64: false,
    ipv6Native: false,
    privateDnsNameOptionsOnLaunch: {
      hostnameType: "ip-name",
      enableResourceNameDnsARecord: false,
      enableResourceNameDnsAAAARecord: false,
    },
    tagSet: tagSet(tags),
  };
}

function freeAddresses({ id, cidr }: SubnetRow, { db }: Scope): number {
  const taken = db.all("interfaces").filter(({ subnetId }) => subnetId === id);
  return usableAddresses(cidr) - taken.length;
}

export const subnetLooks = {
  DescribeSubnets: describer({
    table: "subnets",
    ids: "SubnetId",
    set: "subnetSet",
    filters: {
      "subnet-id": ({ id }) => [id],
      "vpc-id": ({ vpcId }) => [vpcId],
      "cidr-block": ({ cidr }) => [cidr],
      cidr: ({ cidr }) => [cidr],
      cidrBlock: ({ cidr }) => [cidr],
      "availability-zone": ({ zone }) => [zone],
      availabilityZone: ({ zone }) => [zone],
      "availability-zone-id": ({ zone }) => [zoneIdOf(zone)],
      "default-for-az": ({ isDefault }) => [String(isDefault)],
      defaultForAz: ({ isDefault }) => [String(isDefault)],
      "map-public-ip-on-launch": ({ mapPublicIp }) => [String(mapPublicIp)],
      "owner-id": (_, { account }) => [account],
      state: () => ["available"],
    },
    wire: wireOf,
  }),
};
export const subnetChanges = {
  CreateSubnet: createSubnet,
  DeleteSubnet: deleteSubnet,
  ModifySubnetAttribute: modifySubnetAttribute,
};
