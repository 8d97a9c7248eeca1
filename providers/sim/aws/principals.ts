// Who may do what.

import { matchesPattern } from "../core/patterns.js";
import { ApiError } from "./protocol/api-error.js";
import type { Principal } from "./model/scope.js";
import type { AccessKey, SimSettings } from "./model/settings.js";

/** Whose an access key is: as the settings have it, or everybody else's. undefined: nobody's. */
export function ownerOf(accessKey: string, settings: SimSettings): AccessKey | undefined {
  const known = settings.accessKeys[accessKey];
  if (known !== undefined || settings.refuseUnknownKeys) return known;
  const { account } = settings;
  return { principal: `arn:aws:iam::${account}:user/simulated`, account };
}

/** How a service says no. */
export type Denial = (message: string) => ApiError;

/** The owner of a key, for one call: allowed is what its list names. */
export function principalOf(accessKey: string, owner: AccessKey, denial: Denial): Principal {
  const { principal: arn, account, allow } = owner;
  return {
    arn,
    account,
    accessKey,
    authorize: (action, resource) => {
      if (allow === undefined || allow.some((one) => isAllowed(one, action))) return;
      const on = resource === "*" ? "" : ` on resource: ${resource}`;
      throw denial(
        `User: ${arn} is not authorized to perform: ${action}${on} because no identity-based policy allows the ${action} action`,
      );
    },
  };
}

/** IAM does not tell capital letters in actions from small ones. */
function isAllowed(pattern: string, action: string): boolean {
  return matchesPattern(pattern.toLowerCase(), action.toLowerCase());
}

/** The denials of the services. */
export const denials = {
  ec2: (message) =>
    new ApiError(
      "UnauthorizedOperation",
      `You are not authorized to perform this operation. ${message}`,
    ),
  query: (message) => new ApiError("AccessDenied", message),
  json: (message) => new ApiError("AccessDeniedException", message),
} satisfies Record<string, Denial>;
