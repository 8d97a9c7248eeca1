import type { TSchema } from "typebox";
import { isJsonObject, type Json, type JsonObject } from "./json.js";

/** What stands in the place of a secret wherever values are shown. */
export const secretText = "[secret]";

/** The value, or what stands in its place. An absent one stays absent. Pure. */
export function shownUnlessSecret<Value extends Json | undefined>(
  value: Value,
  isSecret: boolean,
): Value | typeof secretText {
  return isSecret && value !== undefined ? secretText : value;
}

/** The same object with `[secret]` for each of these fields that it has. Pure. */
export function withoutSecretFields(
  object: JsonObject,
  secret: readonly string[] | undefined,
): JsonObject {
  if (secret === undefined || secret.length === 0) return object;
  return Object.fromEntries(
    Object.entries(object).map(([field, value]) => [
      field,
      shownUnlessSecret(value, secret.includes(field)),
    ]),
  );
}

/**
 * The fields of a provider's object that hold secrets: those whose schema says `writeOnly`, as JSON Schema has it for what is
 * given and never given back. Pure.
 */
export function secretFieldsIn(schema: TSchema): string[] {
  const { properties = {} }: { readonly properties?: Readonly<Record<string, unknown>> } = schema;
  return Object.keys(properties).filter((field) => isWriteOnly(properties[field]));
}

/** Fields below a field of such a schema that say `writeOnly`, as paths: nobody looks for them there. Pure. */
export function nestedSecretsIn(schema: unknown, path: readonly string[] = []): string[] {
  if (Array.isArray(schema)) {
    return schema.flatMap((part: unknown) => nestedSecretsIn(part, path));
  }
  if (!isJsonObject(schema)) return [];
  return Object.entries(schema).flatMap(([word, part]) => {
    if (word !== "properties" || !isJsonObject(part)) return nestedSecretsIn(part, path);
    return Object.entries(part).flatMap(([field, one]) => {
      const at = [...path, field];
      const own = path.length > 0 && isWriteOnly(one) ? [at.join(".")] : [];
      return [...own, ...nestedSecretsIn(one, at)];
    });
  });
}

function isWriteOnly(schema: unknown): boolean {
  return isJsonObject(schema) && schema["writeOnly"] === true;
}
