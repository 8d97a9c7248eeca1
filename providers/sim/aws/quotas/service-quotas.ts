// Service Quotas: how much of something an account may have in a region.

import { actionsOf, type Handler, type Scope } from "../model/scope.js";
import { ApiError } from "../protocol/api-error.js";
import type { WireObject } from "../protocol/xml.js";

/** A quota that the simulator keeps. */
interface KnownQuota {
  readonly service: ServiceCode;
  readonly name: string;
  readonly of: (quotas: Scope["settings"]["quotas"]) => number;
}

/** The services that have some, by their codes. */
const services = {
  ec2: "Amazon Elastic Compute Cloud (Amazon EC2)",
  vpc: "Amazon Virtual Private Cloud (Amazon VPC)",
} as const;
type ServiceCode = keyof typeof services;

/** By their codes. The simulator has instance types of standard families alone. */
const known: Readonly<Record<string, KnownQuota>> = {
  "L-1216C47A": {
    service: "ec2",
    name: "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
    of: ({ vcpus }) => vcpus,
  },
  "L-34B43A08": {
    service: "ec2",
    name: "All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests",
    of: ({ spotVcpus }) => spotVcpus,
  },
  "L-0263D0A3": {
    service: "ec2",
    name: "EC2-VPC Elastic IPs",
    of: ({ addresses }) => addresses,
  },
  "L-F678F1CE": { service: "vpc", name: "VPCs per Region", of: ({ vpcs }) => vpcs },
};

const getServiceQuota: Handler = (scope, params) => {
  const [service, code] = [params.required("ServiceCode"), params.required("QuotaCode")];
  const quota = known[code];
  if (quota?.service !== service) throw noSuchQuota();
  return { Quota: wireOf(scope, code, quota) };
};

const listServiceQuotas: Handler = (scope, params) => {
  const service = params.required("ServiceCode");
  if (!(service in services)) throw noSuchQuota();
  const own = Object.entries(known).filter(([, quota]) => quota.service === service);
  return { Quotas: own.map(([code, quota]) => wireOf(scope, code, quota)) };
};

function noSuchQuota(): ApiError {
  return new ApiError(
    "NoSuchResourceException",
    "The request failed because the specified service does not exist.",
  );
}

function wireOf(scope: Scope, code: string, { service, name, of }: KnownQuota): WireObject {
  const { account, region, settings } = scope;
  return {
    ServiceCode: service,
    ServiceName: services[service],
    QuotaArn: `arn:aws:servicequotas:${region}:${account}:${service}/${code}`,
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
