import { CapstanError } from "../../src/api/error.js";
import type { Failure } from "../../src/provider/port.js";

// What the cloud in memory refuses calls with.

export function cloudFailed(what: string): CapstanError {
  return new CapstanError({ code: "CLOUD_FAILED", source: "cloud", message: `cannot ${what}` });
}

export const noMedium = "no medium hosts";
/** What the cloud says after it has accepted. */
export const noRoom: Failure = { code: "CAPACITY", reason: noMedium };
export const noQuota: Failure = { code: "QUOTA", reason: "no quota is left" };

export function notYetUsable(id: string): CapstanError {
  const details = {
    code: "NOT_YET_USABLE",
    source: "cloud",
    message: `${id} was not found`,
  } as const;
  return new CapstanError({ ...details, retryable: true });
}

export function throttled(): CapstanError {
  const details = { code: "CLOUD_THROTTLED", source: "cloud", message: "slow down" } as const;
  return new CapstanError({ ...details, retryable: true });
}

export function lost(call: string): CapstanError {
  const message = `the answer to a ${call} was lost`;
  return new CapstanError({ code: "CLOUD_FAILED", source: "cloud", message, ambiguous: true });
}
