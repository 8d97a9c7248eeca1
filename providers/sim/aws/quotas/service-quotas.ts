// Service Quotas: how much of something an account may have in a region.

import { actionsOf, type Handler, type Scope } from "../model/scope.js";
import { ApiError } from "../protocol/api-error.js";
import type { WireObject } from "../protocol/xml.js";

/** A quota that the simulator keeps. */
interface KnownQuota {
  readonly name: string;
  readonly of: (quotas: Scope["settings"]["quotas"]) => number;
}

/** By their codes, of EC2. The simulator has instance types of standard families alone. */
const known: Readonly<Record<string, KnownQuota>> = {
  "L-1216C47A": {
    name: "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
    of: ({ vcpus }) => vcpus,
  },
  "L-34B43A08": {
    name: "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests",
    of: ({ spotVcpus }) => spotVcpus,
  },
  "L-0263D0A3": { name: "EC2-VPC Elastic IPs", of: ({ addresses }) => addresses },
};

const serviceCode = "ec2";

const getServiceQuota: Handler = (scope, params) => {
  const [service, code] = [params.required("ServiceCode"), params.required("QuotaCode")];
  const quota = service === serviceCode ? known[code] : undefined;
  if (quota === undefined) throw noSuchQuota();
  return { Quota: wireOf(scope, code, quota) };
};

const listServiceQuotas: Handler = (scope, params) => {
  if (params.required("ServiceCode") !== serviceCode) throw noSuchQuota();
  return { Quotas: Object.entries(known).map(([code, quota]) => wireOf(scope, code, quota)) };
};

function noSuchQuota(): ApiError {
  return new ApiError(
    "NoSuchResourceException",
    "The request failed because the specified service does not exist.",
  );
}

function wireOf(scope: Scope, code: string, { name, of }: KnownQuota): WireObject {
  const { account, region, settings } = scope;
  return {
    ServiceCode: serviceCode,
    ServiceName: "Amazon Elastic Compute Cloud (Amazon EC2)",
    QuotaArn: `arn:aws:servicequotas:${region}:${account}:${serviceCode}/${code}`,
    QuotaCode: code,
    QuotaName: name,
    Value: of(settings.quotas),
    Unit: "None",
    Adjustable: true,
    GlobalQuota: false,
  };
}

export const quotaActions = actionsOf(
  { GetServiceQuota: getServiceQuota, ListServiceQuotas: listServiceQuotas },
  {},
);
