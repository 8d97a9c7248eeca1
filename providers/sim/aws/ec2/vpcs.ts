// VPCs: each comes with a main route table and a default security group, and goes with them.

import { ApiError, dependencyViolation, invalidValue } from "../protocol/api-error.js";
import type { WireObject } from "../protocol/xml.js";
import { type Handler, later, newId, type Scope } from "../model/scope.js";
import type { Tags, VpcRow } from "../model/tables.js";
import { addGroup } from "./group-rows.js";
import { mustGet } from "./kinds.js";
import { describer } from "./listing.js";
import { normalRange, rangeOf } from "./ranges.js";
import { tagSet, tagsOfNew } from "./tagging.js";

/** Makes a VPC with what belongs to it. */
export function addVpc(
  scope: Scope,
  vpc: {
    readonly cidr: string;
    readonly tags: Tags;
    readonly isDefault: boolean;
    readonly tenancy?: string;
  },
): VpcRow {
  const { cidr, tags, isDefault, tenancy = "default" } = vpc;
  const id = newId(scope, "vpc");
  const row: VpcRow = {
    id,
    tags,
    cidr,
    isDefault,
    tenancy,
    state: isDefault ? "available" : "pending",
    dnsSupport: true,
    dnsHostnames: isDefault,
    cidrAssociationId: newId(scope, "vpc-cidr-assoc"),
  };
  scope.db.put("vpcs", row);
  scope.db.put("routeTables", {
    id: newId(scope, "rtb"),
    tags: {},
    vpcId: id,
    routes: [{ destination: cidr, target: { kind: "local", id: "local" } }],
    associations: [{ id: newId(scope, "rtbassoc") }],
  });
  addGroup(scope, {
    vpcId: id,
    name: "default",
    description: "default VPC security group",
    tags: {},
  });
  return row;
}

const createVpc: Handler = (scope, params) => {
  const asked = params.required("CidrBlock");
  const { bits } = rangeOf(asked);
  if (bits < 16 || bits > 28) {
    throw new ApiError("InvalidVpc.Range", `The CIDR '${asked}' is invalid.`);
  }
  const tenancy = params.text("InstanceTenancy") ?? "default";
  params.ignore("AmazonProvidedIpv6CidrBlock");
  if (scope.db.all("vpcs").length >= scope.settings.quotas.vpcs) {
    throw new ApiError("VpcLimitExceeded", "The maximum number of VPCs has been reached.");
  }
  const tags = tagsOfNew(scope, params, "vpcs");
  const row = addVpc(scope, { cidr: normalRange(asked), tags, isDefault: false, tenancy });
  later(scope, "vpcIsAvailable", row.id, scope.settings.durations.vpcMs);
  return { vpc: wireOf(row, scope) };
};

const deleteVpc: Handler = (scope, params) => {
  const { id } = mustGet(scope, "vpcs", params.required("VpcId"));
  if (hasDependents(scope, id)) {
    throw dependencyViolation(`The vpc '${id}' has dependencies and cannot be deleted.`);
  }
  const { db } = scope;
  for (const table of ["routeTables", "groups"] as const) {
    for (const row of db.all(table)) if (row.vpcId === id) db.remove(table, row.id);
  }
  const groups = new Set(db.all("groups").map((group) => group.id));
  for (const rule of db.all("rules")) if (!groups.has(rule.groupId)) db.remove("rules", rule.id);
  db.remove("vpcs", id);
  return { return: true };
};

/** Whether a VPC holds anything but what it came with. */
function hasDependents({ db }: Scope, vpcId: string): boolean {
  const isIn = (row: { readonly vpcId?: string }) => row.vpcId === vpcId;
  return (
    db.all("subnets").some(isIn) ||
    db.all("internetGateways").some(isIn) ||
    db.all("interfaces").some(isIn) ||
    db.all("groups").some((group) => isIn(group) && group.name !== "default") ||
    db.all("routeTables").some((table) => isIn(table) && !isMain(table))
  );
}

function isMain({
  associations,
}: {
  readonly associations: readonly { readonly subnetId?: string }[];
}): boolean {
  return associations.some(({ subnetId }) => subnetId === undefined);
}

const modifyVpcAttribute: Handler = (scope, params) => {
  const row = mustGet(scope, "vpcs", params.required("VpcId"));
  const support = params.object("EnableDnsSupport")?.flag("Value");
  const hostnames = params.object("EnableDnsHostnames")?.flag("Value");
  if ((support === undefined) === (hostnames === undefined)) {
    throw new ApiError(
      "InvalidParameterCombination",
      "Fields for exactly one attribute must be given",
    );
  }
  const dnsSupport = support ?? row.dnsSupport;
  const dnsHostnames = hostnames ?? row.dnsHostnames;
  scope.db.put("vpcs", { ...row, dnsSupport, dnsHostnames });
  return { return: true };
};

const describeVpcAttribute: Handler = (scope, params) => {
  const row = mustGet(scope, "vpcs", params.required("VpcId"));
  const attribute = params.required("Attribute");
  const values: Readonly<Record<string, boolean>> = {
    enableDnsSupport: row.dnsSupport,
    enableDnsHostnames: row.dnsHostnames,
    enableNetworkAddressUsageMetrics: false,
  };
  const value = values[attribute];
  if (value === undefined)
    throw invalidValue(`Value (${attribute}) for parameter attribute is invalid.`);
  return { vpcId: row.id, [attribute]: { value } };
};

function wireOf(row: VpcRow, { account }: Scope): WireObject {
  const { id, cidr, state, isDefault, tenancy, cidrAssociationId, tags } = row;
  return {
    vpcId: id,
    ownerId: account,
    state,
    cidrBlock: cidr,
    cidrBlockAssociationSet: [
      {
        associationId: cidrAssociationId,
        cidrBlock: cidr,
        cidrBlockState: { state: "associated" },
      },
    ],
    ipv6CidrBlockAssociationSet: [],
    dhcpOptionsId: "dopt-00000000000000001",
    tagSet: tagSet(tags),
    instanceTenancy: tenancy,
    isDefault,
  };
}

export const vpcLooks = {
  DescribeVpcs: describer({
    table: "vpcs",
    ids: "VpcId",
    set: "vpcSet",
    filters: {
      "vpc-id": ({ id }) => [id],
      cidr: ({ cidr }) => [cidr],
      "cidr-block": ({ cidr }) => [cidr],
      "cidr-block-association.cidr-block": ({ cidr }) => [cidr],
      "is-default": ({ isDefault }) => [String(isDefault)],
      isDefault: ({ isDefault }) => [String(isDefault)],
      state: ({ state }) => [state],
      "owner-id": (_, { account }) => [account],
    },
    wire: wireOf,
  }),
  DescribeVpcAttribute: describeVpcAttribute,
};
export const vpcChanges = {
  CreateVpc: createVpc,
  DeleteVpc: deleteVpc,
  ModifyVpcAttribute: modifyVpcAttribute,
};
