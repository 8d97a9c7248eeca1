import type { Tags } from "../model/tables.js";
import { ApiError } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { WireObject } from "../protocol/xml.js";

/** The tags of a call. Pure. */
export function jsonTags(params: Params): Tags {
  const tags = params
    .objects("Tags")
    .map((tag) => [tag.required("Key"), tag.text("Value") ?? ""] as const);
  return Object.fromEntries(tags);
}

export function jsonTagList(tags: Tags): WireObject[] {
  return Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
}

/** A time as services with JSON 1.1 write it: seconds. */
export function jsonTime(ms: number): number {
  return ms / 1000;
}

/** What services with JSON 1.1 call a parameter that cannot be. */
export function validationException(message: string): ApiError {
  return new ApiError("ValidationException", message);
}
