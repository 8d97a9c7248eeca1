// STS: who one is, and sessions of roles.

import { matchesPattern } from "../../core/patterns.js";
import { ApiError, invalidValue } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import { wireTime } from "../protocol/xml.js";
import { actionsOf, type Handler, type Scope } from "../model/scope.js";

/** The default of a call, the default of a role, and all that a session of a session gets. */
const hourSeconds = 3600;
const leastSeconds = 900;

const getCallerIdentity: Handler = ({ who }) => ({
  Arn: who.arn,
  UserId: who.arn.slice(who.arn.lastIndexOf("/") + 1),
  Account: who.account,
});

const assumeRole: Handler = (scope, params) => {
  mustBeTrusted(scope, params);
  return opened(scope, params);
};

/** Throws AccessDenied as STS does: it does not tell whether the role is there. */
function mustBeTrusted({ settings, who }: Scope, params: Params): void {
  const arn = params.required("RoleArn");
  const externalId = params.text("ExternalId");
  const { trusts, externalId: wanted } = settings.roles[arn] ?? {};
  const isTrusted = trusts?.some((pattern) => matchesPattern(pattern, who.arn)) ?? true;
  if (isTrusted && (wanted === undefined || wanted === externalId)) return;
  throw new ApiError(
    "AccessDenied",
    `User: ${who.arn} is not authorized to perform: sts:AssumeRole on resource: ${arn}`,
  );
}

/** Source: STS API reference, AssumeRole, DurationSeconds. */
function secondsOf({ settings, who }: Scope, params: Params, arn: string): number {
  const seconds = params.number("DurationSeconds") ?? hourSeconds;
  const isChained = who.arn.includes(":assumed-role/");
  const most = isChained ? hourSeconds : (settings.roles[arn]?.maxSessionSeconds ?? hourSeconds);
  if (seconds < leastSeconds) {
    throw new ApiError(
      "ValidationError",
      `Value '${seconds}' at 'durationSeconds' failed to satisfy constraint: Member must have value greater than or equal to ${leastSeconds}`,
    );
  }
  if (seconds <= most) return seconds;
  throw new ApiError(
    "ValidationError",
    isChained
      ? "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining."
      : "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.",
  );
}

function opened(scope: Scope, params: Params): ReturnType<Handler> {
  params.ignore("Policy", "PolicyArns", "Tags", "TransitiveTagKeys", "SourceIdentity");
  const arn = params.required("RoleArn");
  const session = params.required("RoleSessionName");
  if (!/^arn:aws:iam::\d{12}:role\/.+$/.test(arn)) throw invalidValue(`${arn} is invalid`);
  const expiresAtMs = scope.nowMs + secondsOf(scope, params, arn) * 1000;
  const AccessKeyId = scope.openSession({ roleArn: arn, name: session, expiresAtMs });
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
      Expiration: wireTime(expiresAtMs),
    },
    PackedPolicySize: 0,
  };
}

const assumeRoleWithWebIdentity: Handler = (scope, params) => {
  params.ignore("WebIdentityToken", "ProviderId");
  return { ...opened(scope, params), Provider: "simulated", Audience: "sts.amazonaws.com" };
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
