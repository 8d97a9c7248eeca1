import type { TSchema } from "typebox";
import type { CelRule } from "./cel.js";
import type { Json } from "./json.js";

/** The part of JSON Schema that src/api/schema.ts and the providers' schemas are written in. */
export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly const?: Json;
  readonly enum?: readonly Json[];
  readonly default?: Json;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly "x-kubernetes-list-type"?: "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-validations"?: readonly CelRule[];
}

/** A TypeBox schema is a JSON schema with types of its own on top. */
export function jsonSchemaOf(schema: TSchema): JsonSchema {
  return schema;
}

/** The schema of every value of a map with free keys; undefined for anything else. */
export function mapValueOf(schema: JsonSchema): JsonSchema | undefined {
  const [value] = Object.values(schema.patternProperties ?? {});
  if (value !== undefined) return value;
  const { additionalProperties } = schema;
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

/** Whether fields beyond the named ones are kept: an object that somebody else defines. */
export function isOpenObject(schema: JsonSchema): boolean {
  return schema.type === "object" && schema.additionalProperties === true;
}

/** The allowed values where only some are: an enum, a constant, or a union of constants. */
export function allowedValuesOf(schema: JsonSchema): readonly Json[] | undefined {
  if (schema.enum !== undefined) return schema.enum;
  if (schema.const !== undefined) return [schema.const];
  const constants = (schema.anyOf ?? []).flatMap((branch) => branch.const ?? []);
  return constants.length > 0 && constants.length === schema.anyOf?.length ? constants : undefined;
}

/** The types that a value may be of, in the order they are written; empty for any type. */
export function typesOf(schema: JsonSchema): string[] {
  if (schema.type !== undefined) return [schema.type];
  const values = allowedValuesOf(schema);
  const types =
    values === undefined
      ? (schema.anyOf ?? []).flatMap(typesOf)
      : values.map((value) => (Number.isInteger(value) ? "integer" : typeof value));
  return [...new Set(types)];
}

/** Whether a user has to write the field: it is required and nothing fills it in. */
export function mustBeWritten(parent: JsonSchema, field: string): boolean {
  const isRequired = parent.required?.includes(field) === true;
  return isRequired && parent.properties?.[field]?.default === undefined;
}
