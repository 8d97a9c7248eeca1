import { isJsonObject, type Json } from "../api/json.js";

/** Values of the same type that differ from the given one. None of null. Pure. */
export function otherValues(value: Json): Json[] {
  if (typeof value === "string") return [`${value}-other`];
  if (typeof value === "number") return [value + 1, value - 1];
  if (typeof value === "boolean") return [!value];
  if (Array.isArray(value)) return value.length > 0 ? [value.slice(1)] : [["other"]];
  return isJsonObject(value) ? [{ ...value, other: "other" }] : [];
}
