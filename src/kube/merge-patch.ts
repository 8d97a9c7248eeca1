import { isJsonObject, type JsonObject, sameJson } from "../api/json.js";

/**
 * What an API server has to merge into `from` to get `to`, lists as wholes; undefined when they are the
 * same. Pure. Source: RFC 7396.
 */
export function mergePatch(
  from: Readonly<Record<string, unknown>>,
  to: Readonly<Record<string, unknown>>,
): JsonObject | undefined {
  const patch: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [before, after] = [from[key], to[key]];
    if (sameJson(before, after)) continue;
    const isNested = isJsonObject(before) && isJsonObject(after);
    patch[key] = isNested ? mergePatch(before, after) : (after ?? null);
  }
  return Object.keys(patch).length === 0 ? undefined : (patch as JsonObject);
}
