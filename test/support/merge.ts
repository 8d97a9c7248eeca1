import { isJsonObject } from "../../src/api/json.js";

type Body = Record<string, unknown>;

/** A JSON value with a patch merged into it. Source: RFC 7396. */
export function merge(target: Body, patch: Body): Body {
  const merged = { ...target };
  for (const [key, value] of Object.entries(patch)) {
    const before = merged[key];
    if (value === null) delete merged[key];
    else if (!isJsonObject(value)) merged[key] = value;
    else merged[key] = merge(isJsonObject(before) ? { ...before } : {}, { ...value });
  }
  return merged;
}
