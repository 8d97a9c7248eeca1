import { type CelRule, celText } from "./cel.js";
import type { Json } from "./json.js";
import {
  allowedValuesOf,
  isOpenObject,
  type JsonSchema,
  mapValueOf,
  mustBeWritten,
  typesOf,
} from "./json-schema.js";
import { omitUndefined } from "./omit-undefined.js";

/** A schema as a CustomResourceDefinition may hold it: "structural" in Kubernetes' words. */
export interface StructuralSchema {
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  readonly description?: string;
  readonly properties?: Readonly<Record<string, StructuralSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: StructuralSchema;
  readonly items?: StructuralSchema;
  readonly enum?: readonly Json[];
  readonly default?: Json;
  readonly nullable?: boolean;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly "x-kubernetes-preserve-unknown-fields"?: true;
  readonly "x-kubernetes-int-or-string"?: true;
  readonly "x-kubernetes-list-type"?: "map";
  readonly "x-kubernetes-list-map-keys"?: readonly string[];
  readonly "x-kubernetes-validations"?: readonly CelRule[];
}

/**
 * The same schema in structural form: closed objects opened (an API server prunes instead), maps by
 * additionalProperties, constants as enums, number-or-text unions as int-or-string, anything else
 * without a type as preserved. Pure. Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
 */
export function structuralOf(schema: JsonSchema): StructuralSchema {
  const types = typesOf(schema).filter((type) => type !== "null");
  const allowed = allowedValuesOf(schema);
  const about = schema.description === undefined ? {} : { description: schema.description };
  if (types.length > 1 && isIntOrString(types)) {
    const rules = rulesOf(schema);
    return { ...about, ...limitsOf(schema), "x-kubernetes-int-or-string": true, ...rules };
  }
  const [type] = types;
  if (type === undefined || types.length > 1) {
    return { ...about, "x-kubernetes-preserve-unknown-fields": true };
  }
  return omitUndefined({
    ...about,
    type: type as NonNullable<StructuralSchema["type"]>,
    ...limitsOf(schema),
    enum: allowed,
    nullable: isNullable(schema) ? true : undefined,
    ...(type === "object" && membersOf(schema)),
    items: type === "array" ? structuralOf(schema.items ?? {}) : undefined,
    "x-kubernetes-list-type": schema["x-kubernetes-list-type"],
    "x-kubernetes-list-map-keys": schema["x-kubernetes-list-map-keys"],
    ...rulesOf(schema),
  });
}

/**
 * Forms are rules too: to a pattern an API server answers with nothing but the pattern. What has rules of
 * its own is judged by those.
 */
function rulesOf(schema: JsonSchema): Pick<StructuralSchema, "x-kubernetes-validations"> {
  const own = schema["x-kubernetes-validations"];
  if (own !== undefined) return { "x-kubernetes-validations": own };
  const [pattern] = [schema, ...(schema.anyOf ?? [])].flatMap((one) => one.pattern ?? []);
  if (pattern === undefined) return {};
  const matches = `self.matches(${celText(pattern)})`;
  const about = schema.description === undefined ? "" : `: ${schema.description}`;
  const rule = schema.anyOf === undefined ? matches : `type(self) == int || ${matches}`;
  return { "x-kubernetes-validations": [{ rule, message: `has the wrong form${about}` }] };
}

function membersOf(schema: JsonSchema): StructuralSchema {
  const held = mapValueOf(schema);
  if (held !== undefined) return { additionalProperties: structuralOf(held) };
  const members = Object.entries(schema.properties ?? {});
  // What has a default need not be sent: the API server fills it in.
  const required = members.map(([name]) => name).filter((name) => mustBeWritten(schema, name));
  return omitUndefined({
    properties:
      members.length > 0
        ? Object.fromEntries(members.map(([name, member]) => [name, structuralOf(member)]))
        : undefined,
    required: required.length > 0 ? required : undefined,
    "x-kubernetes-preserve-unknown-fields":
      isOpenObject(schema) || members.length === 0 ? true : undefined,
  });
}

const limits = [
  "default",
  "format",
  "minimum",
  "maximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "maxProperties",
] as const satisfies readonly (keyof JsonSchema)[];

/** Of a union, the bounds of its branches: each applies to values of its own type only. */
function limitsOf(schema: JsonSchema): StructuralSchema {
  const sources = [...(schema.anyOf ?? []), schema];
  const found = sources.flatMap((source) =>
    limits.filter((limit) => source[limit] !== undefined).map((limit) => [limit, source[limit]]),
  );
  return Object.fromEntries(found) as StructuralSchema;
}

function isIntOrString(types: readonly string[]): boolean {
  return types.length === 2 && types.includes("integer") && types.includes("string");
}

function isNullable(schema: JsonSchema): boolean {
  return schema.anyOf?.some(({ type }) => type === "null") === true;
}
