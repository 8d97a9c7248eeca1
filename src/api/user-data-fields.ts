import type { TSchema } from "typebox";
import type { Violation } from "./diagnostic-codes.js";
import { bootstrapField, bootstrapFieldName, checkHostAdditions } from "./host-additions.js";
import { isJsonObject, type JsonObject } from "./json.js";
import { checkKubeadmPatch, kubeadmField, kubeadmFieldName } from "./kubeadm-patch.js";

/** What every provider whose hosts take user data has in its object of a Machine: optional fields. */
export const userDataFields = {
  [kubeadmFieldName]: kubeadmField,
  [bootstrapFieldName]: bootstrapField,
} as const;

/** Their names. */
export const userDataFieldNames: readonly string[] = Object.keys(userDataFields);

const checks: Readonly<Record<string, (value: JsonObject) => Violation[]>> = {
  [kubeadmFieldName]: checkKubeadmPatch,
  [bootstrapFieldName]: checkHostAdditions,
};

/** Those of them that a schema does not have. Pure. */
export function missingUserDataFields(schema: TSchema): string[] {
  const { properties = {} }: { readonly properties?: Readonly<Record<string, unknown>> } = schema;
  return userDataFieldNames.filter((name) => !Object.hasOwn(properties, name));
}

/** What is wrong with them in a provider's object of such a schema, beyond the schema. Pure. */
export function checkUserDataFields(schema: TSchema, value: JsonObject): Violation[] {
  if (missingUserDataFields(schema).length > 0) return [];
  return Object.entries(checks).flatMap(([name, check]) => {
    const own = value[name];
    if (!isJsonObject(own)) return [];
    return check(own).map((violation) => ({ ...violation, path: [name, ...violation.path] }));
  });
}
