import type { MemberPath } from "./diagnostic-codes.js";
import { isJsonObject, type Json } from "./json.js";

/**
 * What Pulumi puts in the place of a value that is not known before it is applied, whatever its
 * type. Source: https://github.com/pulumi/pulumi/blob/v3.259.0/sdk/nodejs/runtime/rpc.ts
 */
export const unknownValue = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** Whether a value is unknown or holds an unknown at any depth. */
export function holdsUnknown(value: Json | undefined): boolean {
  if (value === unknownValue) return true;
  if (Array.isArray(value)) return value.some((item: Json) => holdsUnknown(item));
  return isJsonObject(value) && Object.values(value).some(holdsUnknown);
}

/** Where unknown values stand, in the order of members. Pure. */
export function unknownPaths(value: Json | undefined): MemberPath[] {
  if (value === unknownValue) return [[]];
  const members: [string | number, Json][] = Array.isArray(value)
    ? [...(value as readonly Json[]).entries()]
    : Object.entries(isJsonObject(value) ? value : {});
  return members.flatMap(([key, member]) => unknownPaths(member).map((path) => [key, ...path]));
}
