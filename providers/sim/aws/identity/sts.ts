// STS: who one is, and sessions of roles.

import { invalidValue } from "../protocol/api-error.js";
import { wireTime } from "../protocol/xml.js";
import { actionsOf, type Handler } from "../model/scope.js";

const sessionSeconds = 3600;

const getCallerIdentity: Handler = ({ who }) => ({
  Arn: who.arn,
  UserId: who.arn.slice(who.arn.lastIndexOf("/") + 1),
  Account: who.account,
});

const assumeRole: Handler = (scope, params) => {
  params.ignore(
    "ExternalId",
    "Policy",
    "PolicyArns",
    "Tags",
    "TransitiveTagKeys",
    "SourceIdentity",
  );
  const arn = params.required("RoleArn");
  const session = params.required("RoleSessionName");
  const seconds = params.number("DurationSeconds") ?? sessionSeconds;
  if (!/^arn:aws:iam::\d{12}:role\/.+$/.test(arn)) throw invalidValue(`${arn} is invalid`);
  const AccessKeyId = scope.openSession(arn, session);
  const [, account = "", role = ""] =
    /^arn:aws:iam::(\d{12}):role\/(?:.*\/)?([^/]+)$/.exec(arn) ?? [];
  return {
    AssumedRoleUser: {
      AssumedRoleId: `AROA${AccessKeyId.slice(4)}:${session}`,
      Arn: `arn:aws:sts::${account}:assumed-role/${role}/${session}`,
    },
    Credentials: {
      AccessKeyId,
      SecretAccessKey: scope.digits(40),
      SessionToken: scope.digits(64),
      Expiration: wireTime(scope.nowMs + seconds * 1000),
    },
    PackedPolicySize: 0,
  };
};

const assumeRoleWithWebIdentity: Handler = (scope, params) => {
  params.ignore("WebIdentityToken", "ProviderId");
  return { ...assumeRole(scope, params), Provider: "simulated", Audience: "sts.amazonaws.com" };
};

/** Sessions are not what a region holds, so these calls change nothing of it. */
export const stsActions = actionsOf(
  {
    GetCallerIdentity: getCallerIdentity,
    AssumeRole: assumeRole,
    AssumeRoleWithWebIdentity: assumeRoleWithWebIdentity,
  },
  {},
);
