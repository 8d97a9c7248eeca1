// Internet gateways.

import { ApiError, dependencyViolation, invalidValue } from "../protocol/api-error.js";
import type { WireObject } from "../protocol/xml.js";
import { type Handler, newId, type Scope } from "../model/scope.js";
import type { InternetGatewayRow } from "../model/tables.js";
import { publicAddressOf } from "./interfaces.js";
import { mustGet } from "./kinds.js";
import { describer } from "./listing.js";
import { tagSet, tagsOfNew } from "./tagging.js";

const createInternetGateway: Handler = (scope, params) => {
  if (scope.db.all("internetGateways").length >= scope.settings.quotas.internetGateways) {
    throw new ApiError(
      "InternetGatewayLimitExceeded",
      "The maximum number of internet gateways has been reached.",
    );
  }
  const id = newId(scope, "igw");
  const row: InternetGatewayRow = { id, tags: tagsOfNew(scope, params, "internetGateways") };
  scope.db.put("internetGateways", row);
  return { internetGateway: wireOf(row, scope) };
};

const attachInternetGateway: Handler = (scope, params) => {
  const row = mustGet(scope, "internetGateways", params.required("InternetGatewayId"));
  const vpc = mustGet(scope, "vpcs", params.required("VpcId"));
  if (row.vpcId !== undefined) {
    throw new ApiError(
      "Resource.AlreadyAssociated",
      `resource ${row.id} is already attached to network ${row.vpcId}`,
    );
  }
  if (scope.db.all("internetGateways").some(({ vpcId }) => vpcId === vpc.id)) {
    throw invalidValue(`Network ${vpc.id} already has an internet gateway attached`);
  }
  scope.db.put("internetGateways", { ...row, vpcId: vpc.id });
  return { return: true };
};

const detachInternetGateway: Handler = (scope, params) => {
  const { id, tags, vpcId } = mustGet(
    scope,
    "internetGateways",
    params.required("InternetGatewayId"),
  );
  const vpc = mustGet(scope, "vpcs", params.required("VpcId"));
  if (vpcId !== vpc.id) {
    throw new ApiError(
      "Gateway.NotAttached",
      `resource ${id} is not attached to network ${vpc.id}`,
    );
  }
  const isMapped = scope.db
    .all("interfaces")
    .some((one) => one.vpcId === vpc.id && publicAddressOf(scope, one) !== undefined);
  if (isMapped) {
    throw dependencyViolation(
      `Network ${vpc.id} has some mapped public address(es). Please unmap those public address(es) before detaching the gateway.`,
    );
  }
  scope.db.put("internetGateways", { id, tags });
  return { return: true };
};

const deleteInternetGateway: Handler = (scope, params) => {
  const { id, vpcId } = mustGet(scope, "internetGateways", params.required("InternetGatewayId"));
  if (vpcId !== undefined) {
    throw dependencyViolation(
      `The internetGateway '${id}' has dependencies and cannot be deleted.`,
    );
  }
  scope.db.remove("internetGateways", id);
  return { return: true };
};

function wireOf({ id, vpcId, tags }: InternetGatewayRow, { account }: Scope): WireObject {
  const attachmentSet = vpcId === undefined ? [] : [{ vpcId, state: "available" }];
  return { internetGatewayId: id, ownerId: account, attachmentSet, tagSet: tagSet(tags) };
}

export const internetGatewayLooks = {
  DescribeInternetGateways: describer({
    table: "internetGateways",
    ids: "InternetGatewayId",
    set: "internetGatewaySet",
    filters: {
      "internet-gateway-id": ({ id }) => [id],
      "attachment.vpc-id": ({ vpcId }) => [vpcId],
      "attachment.state": ({ vpcId }) => (vpcId === undefined ? [] : ["available"]),
      "owner-id": (_, { account }) => [account],
    },
    wire: wireOf,
  }),
};
export const internetGatewayChanges = {
  CreateInternetGateway: createInternetGateway,
  AttachInternetGateway: attachInternetGateway,
  DetachInternetGateway: detachInternetGateway,
  DeleteInternetGateway: deleteInternetGateway,
};
