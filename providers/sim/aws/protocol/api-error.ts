/** An error that a service answers with. */
export class ApiError extends Error {
  constructor(
    /** As AWS calls it, e.g. "InvalidVpcID.NotFound". */
    readonly code: string,
    message: string,
    /** HTTP status. */
    readonly status = statusOf(code),
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** Codes that are answered with another status than 400. */
const statuses: Readonly<Record<string, number>> = {
  AuthFailure: 401,
  AccessDenied: 403,
  UnauthorizedOperation: 403,
  InvalidClientTokenId: 403,
  OptInRequired: 403,
  DryRunOperation: 412,
  InternalError: 500,
  InternalFailure: 500,
  InsufficientInstanceCapacity: 500,
  InsufficientFreeAddressesInSubnet: 400,
  RequestLimitExceeded: 503,
  Unavailable: 503,
  ServiceUnavailable: 503,
};

/** The status that an error code is answered with. Pure. */
export function statusOf(code: string): number {
  return statuses[code] ?? 400;
}

export function missingParameter(name: string): ApiError {
  return new ApiError("MissingParameter", `The request must contain the parameter ${name}`);
}

/** A parameter that cannot be what it is. */
export function wrongValue(name: string, why: string): ApiError {
  return new ApiError("InvalidParameterValue", `Value for parameter ${name} is invalid: ${why}`);
}

export function invalidValue(message: string): ApiError {
  return new ApiError("InvalidParameterValue", message);
}

export function dependencyViolation(message: string): ApiError {
  return new ApiError("DependencyViolation", message);
}
