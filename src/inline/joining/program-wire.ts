import { CapstanError, type ErrorDetails, isCapstanError, messageOf } from "../../api/error.js";
import type { JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { UserData, UserDataFormat } from "../../provider/port.js";

// How a Pulumi program and the host of its resources speak with each other: JSON over HTTP on the loopback interface.

/** User data as JSON. Secret. Pure. */
export function userDataJson({ format, text, packed }: UserData): JsonObject {
  return { format, text, packed: Buffer.from(packed).toString("base64") };
}

export function userDataIn({ format, text, packed }: JsonObject): UserData {
  return {
    format: format as UserDataFormat,
    text: String(text),
    packed: Buffer.from(String(packed), "base64"),
  };
}

/** What an error says that decides what becomes of the call. Pure. */
export function errorJson(error: unknown): JsonObject {
  if (!isCapstanError(error)) return { message: messageOf(error) };
  const { code, message, source, subject, hint, retryable, retryAfterMs } = error;
  return omitUndefined({ code, message, source, subject, hint, retryable, retryAfterMs });
}

export function errorIn(answer: JsonObject): Error {
  if (typeof answer["code"] !== "string") return new Error(String(answer["message"]));
  return new CapstanError(answer as unknown as ErrorDetails);
}
