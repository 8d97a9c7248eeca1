import { type CapstanError, type ErrorCode, isCapstanError } from "../../src/api/error.js";
import { UnfinishedResource } from "../../src/dynamic/protocol.js";

/** For assert.throws and assert.rejects: an error of ours with this code, and perhaps this message. */
export function failsWith(code: ErrorCode, message?: RegExp) {
  return (error: unknown): boolean =>
    isCapstanError(error) && error.code === code && (message?.test(error.message) ?? true);
}

/** For assert.rejects: a resource that is recorded under this id although something failed. */
export function unfinished(id: string, code?: ErrorCode) {
  return (error: unknown): boolean =>
    error instanceof UnfinishedResource &&
    error.id === id &&
    (code === undefined || (error.reason as CapstanError).code === code);
}
