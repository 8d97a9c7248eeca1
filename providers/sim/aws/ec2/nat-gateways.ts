// NAT gateways: made and deleted in the background, and in the way of much as long as they are there.

import { omitUndefined } from "../../../../src/api/omit-undefined.js";
import { ApiError } from "../protocol/api-error.js";
import { type WireObject, wireTime } from "../protocol/xml.js";
import type { Params } from "../protocol/params.js";
import { type Handler, later, newId, never, onceByToken, type Scope } from "../model/scope.js";
import type { AddressRow, NatGatewayRow, SubnetRow } from "../model/tables.js";
import { addInterface, removeInterface } from "./interfaces.js";
import { mustGet, notFound } from "./kinds.js";
import { describeRows, rowsOf } from "./listing.js";
import { tagSet, tagsOfNew } from "./tagging.js";

const createNatGateway: Handler = (scope, params) => {
  const id = onceByToken(scope, "CreateNatGateway", params, (clientToken) =>
    makeNatGateway(scope, params, clientToken),
  );
  const row = mustGet(scope, "natGateways", id);
  return { clientToken: row.clientToken, natGateway: wireOf(row) };
};

function makeNatGateway(scope: Scope, params: Params, clientToken: string | undefined): string {
  const subnet = mustGet(scope, "subnets", params.required("SubnetId"));
  const isPublic = connectivityOf(params) === "public";
  params.ignore("AvailabilityMode");
  const address = isPublic ? freeAddressOf(scope, params.required("AllocationId")) : undefined;
  checkQuota(scope, subnet);
  const base = omitUndefined<NatBase>({
    id: newId(scope, "nat"),
    tags: tagsOfNew(scope, params, "natGateways"),
    vpcId: subnet.vpcId,
    subnetId: subnet.id,
    isPublic,
    createdAtMs: scope.nowMs,
    clientToken,
  });
  const hasGateway = scope.db.all("internetGateways").some(({ vpcId }) => vpcId === subnet.vpcId);
  const row =
    isPublic && !hasGateway ? failed(base, subnet.vpcId) : withInterface(scope, base, address);
  scope.db.put("natGateways", row);
  return row.id;
}

type NatBase = Omit<NatGatewayRow, "state" | "interfaceId" | "privateIp">;

/** It is accepted and fails later, as EC2 has it: shown as failed, with the reason. */
function failed(base: NatBase, vpcId: string): NatGatewayRow {
  const message = `Network ${vpcId} has no Internet gateway attached`;
  const failure = { code: "Gateway.NotAttached", message };
  return { ...base, state: "failed", failure };
}

function withInterface(
  scope: Scope,
  base: NatBase,
  address: AddressRow | undefined,
): NatGatewayRow {
  const { id: interfaceId, privateIp } = addInterface(scope, {
    subnetId: base.subnetId,
    groupIds: [],
    description: `Interface for NAT Gateway ${base.id}`,
    type: "nat_gateway",
    requester: "amazon-nat",
  });
  later(scope, "natIsAvailable", base.id, scope.settings.durations.natCreateMs);
  const row: NatGatewayRow = { ...base, state: "pending", interfaceId, privateIp };
  if (address === undefined) return row;
  scope.db.put("addresses", { ...address, associationId: newId(scope, "eipassoc"), interfaceId });
  return { ...row, allocationId: address.id, publicIp: address.publicIp };
}

function connectivityOf(params: Params): string {
  const kind = params.text("ConnectivityType") ?? "public";
  if (kind === "public" || kind === "private") return kind;
  throw new ApiError(
    "InvalidParameterValue",
    `Value (${kind}) for parameter connectivityType is invalid.`,
  );
}

function freeAddressOf(scope: Scope, allocationId: string): AddressRow {
  const address = mustGet(scope, "addresses", allocationId);
  if (address.interfaceId === undefined) return address;
  throw new ApiError(
    "Resource.AlreadyAssociated",
    `Elastic IP address [${allocationId}] is already associated`,
  );
}

function checkQuota({ db, settings }: Scope, { zone }: SubnetRow): void {
  const inZone = db
    .all("natGateways")
    .filter(
      ({ subnetId, state }) =>
        db.get("subnets", subnetId)?.zone === zone && state !== "deleted" && state !== "failed",
    );
  if (inZone.length < settings.quotas.natGatewaysPerZone) return;
  throw new ApiError(
    "NatGatewayLimitExceeded",
    "The maximum number of NAT gateways has been reached.",
  );
}

const deleteNatGateway: Handler = (scope, params) => {
  const row = mustGet(scope, "natGateways", params.required("NatGatewayId"));
  const { id, state } = row;
  if (state === "deleted") throw notFound("natGateways", id);
  if (state !== "deleting") {
    never(scope, "natIsAvailable", id);
    const deletedAtMs = scope.nowMs;
    scope.db.put("natGateways", { ...row, state: "deleting", deletedAtMs });
    later(scope, "natIsDeleted", id, scope.settings.durations.natDeleteMs);
  }
  return { natGatewayId: id };
};

/** What happens to NAT gateways by itself. */
export const natTimers = {
  natIsAvailable: (scope: Scope, id: string) => {
    scope.db.put("natGateways", { ...mustGet(scope, "natGateways", id), state: "available" });
  },
  natIsDeleted: (scope: Scope, id: string) => {
    const row = mustGet(scope, "natGateways", id);
    if (row.interfaceId !== undefined) removeInterface(scope, row.interfaceId);
    scope.db.put("natGateways", { ...row, state: "deleted" });
    later(scope, "natIsForgotten", id, scope.settings.durations.goneIsShownMs);
  },
  natIsForgotten: (scope: Scope, id: string) => scope.db.remove("natGateways", id),
};

function wireOf(row: NatGatewayRow): WireObject {
  const { id, state, isPublic, failure, deletedAtMs, interfaceId } = row;
  const address = {
    allocationId: row.allocationId,
    networkInterfaceId: interfaceId,
    privateIp: row.privateIp,
    publicIp: row.publicIp,
    isPrimary: true,
    status: state === "pending" ? "associating" : "succeeded",
  };
  return {
    natGatewayId: id,
    subnetId: row.subnetId,
    vpcId: row.vpcId,
    state,
    createTime: wireTime(row.createdAtMs),
    deleteTime: deletedAtMs === undefined ? undefined : wireTime(deletedAtMs),
    failureCode: failure?.code,
    failureMessage: failure?.message,
    connectivityType: isPublic ? "public" : "private",
    natGatewayAddressSet: [address],
    tagSet: tagSet(row.tags),
  };
}

const describeNatGateways: Handler = (scope, params) => {
  const rows = rowsOf(scope, "natGateways", params.texts("NatGatewayId"));
  return describeRows(scope, params, rows, {
    set: "natGatewaySet",
    filters: {
      "nat-gateway-id": ({ id }) => [id],
      state: ({ state }) => [state],
      "subnet-id": ({ subnetId }) => [subnetId],
      "vpc-id": ({ vpcId }) => [vpcId],
    },
    wire: wireOf,
  });
};

export const natLooks = { DescribeNatGateways: describeNatGateways };
export const natChanges = {
  CreateNatGateway: createNatGateway,
  DeleteNatGateway: deleteNatGateway,
};
