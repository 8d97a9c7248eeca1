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
