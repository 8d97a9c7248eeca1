// Elastic addresses.

import { ApiError } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { WireObject } from "../protocol/xml.js";
import { type Handler, newId, type Scope } from "../model/scope.js";
import type { AddressRow, InterfaceRow } from "../model/tables.js";
import { addressOn, newPublicAddress, unmapped } from "./interfaces.js";
import { interfacesOf } from "./instance-views.js";
import { mustGet } from "./kinds.js";
import { describeRows, rowsOf } from "./listing.js";
import { tagSet, tagsOfNew } from "./tagging.js";

const allocateAddress: Handler = (scope, params) => {
  params.ignore("Domain", "NetworkBorderGroup");
  if (scope.db.all("addresses").length >= scope.settings.quotas.addresses) {
    throw new ApiError("AddressLimitExceeded", "The maximum number of addresses has been reached.");
  }
  const row: AddressRow = {
    id: newId(scope, "eipalloc"),
    tags: tagsOfNew(scope, params, "addresses"),
    publicIp: newPublicAddress(scope),
  };
  scope.db.put("addresses", row);
  return {
    publicIp: row.publicIp,
    domain: "vpc",
    allocationId: row.id,
    publicIpv4Pool: "amazon",
    networkBorderGroup: scope.region,
  };
};

const releaseAddress: Handler = (scope, params) => {
  params.ignore("NetworkBorderGroup");
  const row = addressNamed(scope, params);
  if (isOfService(scope, row)) throw notYours();
  if (row.interfaceId !== undefined) {
    throw new ApiError("InvalidIPAddress.InUse", `Address ${row.publicIp} is in use.`);
  }
  scope.db.remove("addresses", row.id);
  return { return: true };
};

function addressNamed(scope: Scope, params: Params): AddressRow {
  const [id, publicIp] = [params.text("AllocationId"), params.text("PublicIp")];
  if (id !== undefined) return mustGet(scope, "addresses", id);
  const row = scope.db.all("addresses").find((one) => one.publicIp === publicIp);
  if (row !== undefined) return row;
  if (publicIp === undefined) {
    throw new ApiError(
      "MissingParameter",
      "Either 'PublicIp' or 'AllocationId' must be specified.",
    );
  }
  throw new ApiError("InvalidAddress.NotFound", `Address '${publicIp}' not found.`);
}

const associateAddress: Handler = (scope, params) => {
  const row = addressNamed(scope, params);
  const target = targetOf(scope, params);
  const mayMove = params.flag("AllowReassociation") ?? true;
  const igw = scope.db.all("internetGateways").find(({ vpcId }) => vpcId === target.vpcId);
  if (igw === undefined) {
    throw new ApiError(
      "Gateway.NotAttached",
      `Network ${target.vpcId} is not attached to any internet gateway`,
    );
  }
  if (row.interfaceId !== undefined && (!mayMove || isOfService(scope, row))) {
    throw new ApiError(
      "Resource.AlreadyAssociated",
      `resource ${row.id} is already associated with associate-id ${row.associationId ?? ""}`,
    );
  }
  const before = addressOn(scope, target.id);
  if (before !== undefined) scope.db.put("addresses", unmapped(before));
  const associationId = newId(scope, "eipassoc");
  scope.db.put("addresses", { ...row, associationId, interfaceId: target.id });
  return { return: true, associationId };
};

function targetOf(scope: Scope, params: Params): InterfaceRow {
  const interfaceId = params.text("NetworkInterfaceId");
  if (interfaceId !== undefined) return mustGet(scope, "interfaces", interfaceId);
  const instance = mustGet(scope, "instances", params.required("InstanceId"));
  const [first] = interfacesOf(scope, instance.id);
  if (first !== undefined && instance.state !== "pending") return first;
  throw new ApiError(
    "IncorrectInstanceState",
    `The pending-instance-running instance to which 'eni' is attached is not in a valid state for this operation`,
  );
}

/** A NAT gateway's or a load balancer's address is theirs to map. */
function isOfService({ db }: Scope, { interfaceId = "" }: AddressRow): boolean {
  return db.get("interfaces", interfaceId)?.requester !== undefined;
}

/** The words for what belongs to a service, as for wrong credentials, but with another status. */
function notYours(): ApiError {
  const message = "You do not have permission to access the specified resource.";
  return new ApiError("AuthFailure", message, 400);
}

const disassociateAddress: Handler = (scope, params) => {
  const [associationId, publicIp] = [params.text("AssociationId"), params.text("PublicIp")];
  const row = scope.db
    .all("addresses")
    .find((one) =>
      associationId === undefined ? one.publicIp === publicIp : one.associationId === associationId,
    );
  if (row?.interfaceId === undefined) {
    throw new ApiError(
      "InvalidAssociationID.NotFound",
      `The association ID '${associationId ?? publicIp ?? ""}' does not exist`,
    );
  }
  if (isOfService(scope, row)) throw notYours();
  scope.db.put("addresses", unmapped(row));
  return { return: true };
};

const describeAddresses: Handler = (scope, params) => {
  const publicIps = params.texts("PublicIp");
  const rows = rowsOf(scope, "addresses", params.texts("AllocationId")).filter(
    ({ publicIp }) => publicIps.length === 0 || publicIps.includes(publicIp),
  );
  const { addressesSet } = describeRows(scope, params, rows, {
    set: "addressesSet",
    filters: {
      "allocation-id": ({ id }) => [id],
      "association-id": ({ associationId }) => [associationId],
      "public-ip": ({ publicIp }) => [publicIp],
      domain: () => ["vpc"],
      "network-interface-id": ({ interfaceId }) => [interfaceId],
      "instance-id": (row, { db }) => [
        db.get("interfaces", row.interfaceId ?? "")?.attachment?.instanceId,
      ],
      "network-border-group": (_, { region }) => [region],
    },
    wire: wireOf,
  });
  return { addressesSet };
};

function wireOf(row: AddressRow, scope: Scope): WireObject {
  const { id, publicIp, associationId, interfaceId, tags } = row;
  const mapped = scope.db.get("interfaces", interfaceId ?? "");
  return {
    publicIp,
    allocationId: id,
    domain: "vpc",
    associationId,
    networkInterfaceId: interfaceId,
    networkInterfaceOwnerId: mapped === undefined ? undefined : scope.account,
    privateIpAddress: mapped?.privateIp,
    instanceId: mapped?.attachment?.instanceId,
    publicIpv4Pool: "amazon",
    networkBorderGroup: scope.region,
    tagSet: tagSet(tags),
  };
}

export const addressLooks = { DescribeAddresses: describeAddresses };
export const addressChanges = {
  AllocateAddress: allocateAddress,
  ReleaseAddress: releaseAddress,
  AssociateAddress: associateAddress,
  DisassociateAddress: disassociateAddress,
};
