import { identityDescription } from "./cluster-identities.js";
import { CapstanError } from "./error.js";
import type { Json } from "./json.js";
import {
  allowedValuesOf,
  isOpenObject,
  type JsonSchema,
  jsonSchemaOf,
  mapValueOf,
  mustBeWritten,
  typesOf,
} from "./json-schema.js";
import { apiGroup, apiVersionName, isNameOf, kinds, namesOf } from "./kind-names.js";
import { omitUndefined } from "./omit-undefined.js";
import type { ProviderSpecs } from "./provider-specs.js";
import { schemas } from "./schema.js";
import { apiGroupOf, versionOf } from "./served-versions.js";
import { nearest } from "./validate.js";

/** A kind of object that can be explained: ours, or a provider's. */
export interface ExplainableKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly schema: JsonSchema;
  /** Other words for the kind. */
  readonly shortNames: readonly string[];
  /** Of a provider's object: the kinds whose providerSpec holds it. */
  readonly heldBy: readonly string[];
  /** Other versions that manifests may be written in, newest first. */
  readonly olderVersions: readonly ExplainableVersion[];
}

interface ExplainableVersion extends Pick<ExplainableKind, "version" | "schema"> {
  readonly deprecated: boolean;
}

/** What there is to know about one field, apart from the fields inside it. */
export interface FieldFacts {
  /** As kubectl writes it: "string", "integer", "[]Object", "map[string]string". */
  readonly type: string;
  readonly description: string;
  readonly allowed?: readonly Json[];
  readonly default?: Json;
  /** Bounds in words, e.g. "at least 0". */
  readonly bounds?: string;
}

export interface ExplainedField extends FieldFacts {
  readonly name: string;
  /** Has to be written: it is required and has no default. */
  readonly required: boolean;
  readonly fields: readonly ExplainedField[];
}

export interface Explanation extends FieldFacts {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Leads from the object to the field; empty for the object itself. */
  readonly path: readonly string[];
  readonly fields: readonly ExplainedField[];
  /** Kinds of the provider's objects that stand here. */
  readonly seeAlso: readonly string[];
  /** Other versions of the whole object; absent without any. */
  readonly otherVersions?: readonly OtherVersion[];
}

interface OtherVersion {
  readonly apiVersion: string;
  readonly deprecated: boolean;
}

/** Our kinds, then the objects of the providers. Pure. */
export function explainableKinds(providers: readonly ProviderSpecs[]): ExplainableKind[] {
  const own = kinds.map((kind) => ({
    group: apiGroup,
    version: apiVersionName,
    kind,
    schema: jsonSchemaOf(schemas[kind]),
    shortNames: namesOf(kind).shortNames,
    heldBy: [],
    olderVersions: [],
  }));
  const provided = providers.flatMap((provider) => {
    const others = kinds.filter((kind) => kind !== "Cluster");
    return [
      providedKind(provider, "clusterSpec", ["Cluster", "MachineClass"]),
      providedKind(provider, "machineSpec", others),
    ];
  });
  return [...own, ...provided, ...providers.flatMap(identityKindsOf)];
}

/** Objects of their own: what a user writes of them is their spec. */
function identityKindsOf({ apiVersion, identities }: ProviderSpecs): ExplainableKind[] {
  return Object.entries(identities?.kinds ?? {}).map(([kind, schema]) => {
    const spec = jsonSchemaOf(schema);
    return {
      group: apiGroupOf(apiVersion),
      version: versionOf(apiVersion),
      kind,
      schema: {
        type: "object",
        description: identityDescription,
        properties: { spec },
      },
      shortNames: [],
      heldBy: [],
      olderVersions: [],
    };
  });
}

function providedKind(
  { apiVersion, olderVersions = [], ...specs }: ProviderSpecs,
  role: "clusterSpec" | "machineSpec",
  heldBy: readonly string[],
): ExplainableKind {
  return {
    group: apiGroupOf(apiVersion),
    version: versionOf(apiVersion),
    kind: specs[role].kind,
    schema: jsonSchemaOf(specs[role].schema),
    shortNames: [],
    heldBy,
    olderVersions: olderVersions.map((older) => ({
      version: versionOf(older.apiVersion),
      schema: jsonSchemaOf(older[role].schema),
      deprecated: older.deprecated === true,
    })),
  };
}

/**
 * Explains "KIND" or "KIND.FIELD.FIELD"; kinds in any case, plural or short; of the newest version
 * unless another is named. Pure. Throws BAD_USAGE with the nearest known word for what it does not know.
 */
export function explain(
  words: string,
  known: readonly ExplainableKind[],
  apiVersion?: string,
): Explanation {
  const [word = "", ...path] = words.replace(/\[[^\][]*\]|(?<!\.)\.+$/g, "").split(".");
  const kind = inVersion(findKind(word, known), apiVersion);
  const field = path.reduce<{ schema: JsonSchema; walked: string[] }>(
    ({ schema, walked }, name) => ({
      schema: fieldOf(schema, name, `${kind.kind}${walked.map((part) => `.${part}`).join("")}`),
      walked: [...walked, name],
    }),
    { schema: kind.schema, walked: [] },
  );
  const seeAlso = isOpenObject(field.schema)
    ? known.filter(({ heldBy }) => heldBy.includes(kind.kind)).map((one) => one.kind)
    : [];
  return omitUndefined({
    group: kind.group,
    version: kind.version,
    kind: kind.kind,
    path,
    ...factsOf(field.schema),
    fields: fieldsOf(field.schema),
    seeAlso,
    otherVersions: path.length === 0 ? kind.otherVersions : undefined,
  });
}

/** A kind in one of its versions. */
function inVersion(
  kind: ExplainableKind,
  apiVersion: string | undefined,
): ExplainableKind & Pick<Explanation, "otherVersions"> {
  const { version, schema, group, olderVersions } = kind;
  const versions = [{ version, schema, deprecated: false }, ...olderVersions].map((one) => ({
    ...one,
    apiVersion: `${group}/${one.version}`,
  }));
  const meant = versions.find((one) => one.apiVersion === (apiVersion ?? `${group}/${version}`));
  if (meant === undefined) {
    throw new CapstanError({
      code: "BAD_USAGE",
      source: "user",
      message: `cannot explain ${kind.kind} of ${String(apiVersion)}: there is no such version`,
      hint: `versions of ${kind.kind}: ${versions.map((one) => one.apiVersion).join(", ")}`,
    });
  }
  const others = versions.filter((one) => one !== meant);
  return omitUndefined({
    ...kind,
    version: meant.version,
    schema: meant.schema,
    otherVersions:
      others.length === 0
        ? undefined
        : others.map((other) => ({ apiVersion: other.apiVersion, deprecated: other.deprecated })),
  });
}

/**
 * What could stand where "KIND.FIELD.fi" has come so far: kinds, or the fields at that place. A word
 * that goes on ends in a dot. Pure; nothing for what cannot be explained.
 */
export function explainWords(begun: string, known: readonly ExplainableKind[]): string[] {
  const dot = begun.lastIndexOf(".");
  if (dot < 0) {
    return known.map(({ kind, group }) => (group === apiGroup ? kind.toLowerCase() : kind));
  }
  const before = begun.slice(0, dot);
  try {
    const { fields } = explain(before, known);
    return fields.map(
      ({ name, fields: inner }) => `${before}.${name}${inner.length > 0 ? "." : ""}`,
    );
  } catch {
    return [];
  }
}

function findKind(word: string, known: readonly ExplainableKind[]): ExplainableKind {
  const found = known.find(({ kind, group }) =>
    group === apiGroup ? isNameOf(kind, word) : kind.toLowerCase() === word.toLowerCase(),
  );
  if (found !== undefined) return found;
  const names = known.map(({ kind }) => kind);
  const near = nearest(word, names);
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `cannot explain "${word}": there is no such kind`,
    hint: near === undefined ? `kinds: ${names.join(", ")}` : `did you mean "${near}"?`,
  });
}

/** The member's schema; lists and maps are passed through to what they hold. */
function fieldOf(schema: JsonSchema, name: string, where: string): JsonSchema {
  const holder = innermost(schema);
  const members = holder.properties ?? {};
  const member = Object.hasOwn(members, name) ? members[name] : mapValueOf(holder);
  if (member !== undefined) return member;
  const names = Object.keys(members);
  const near = nearest(name, names);
  const hint =
    near !== undefined
      ? `did you mean "${where}.${near}"?`
      : names.length > 0
        ? `fields of ${where}: ${names.join(", ")}`
        : `${where} has no fields of its own`;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `cannot explain ${where}.${name}: there is no such field`,
    hint,
  });
}

function innermost(schema: JsonSchema): JsonSchema {
  return schema.items === undefined ? schema : innermost(schema.items);
}

function fieldsOf(schema: JsonSchema): ExplainedField[] {
  const holder = innermost(schema);
  return Object.entries(holder.properties ?? {}).map(([name, member]) => ({
    name,
    required: mustBeWritten(holder, name),
    ...factsOf(member),
    fields: fieldsOf(member),
  }));
}

function factsOf(schema: JsonSchema): FieldFacts {
  const allowed = allowedValuesOf(innermost(schema));
  const bounds = boundsOf(schema);
  return omitUndefined({
    type: typeNameOf(schema),
    description: schema.description ?? innermost(schema).description ?? "",
    allowed,
    default: schema.default,
    bounds: bounds === "" ? undefined : bounds,
  });
}

function typeNameOf(schema: JsonSchema): string {
  if (schema.items !== undefined) return `[]${typeNameOf(schema.items)}`;
  const held = mapValueOf(schema);
  if (held !== undefined) return `map[string]${typeNameOf(held)}`;
  const types = typesOf(schema).filter((type) => type !== "null");
  return types.length === 0 ? "Any" : types.join(" or ").replace("object", "Object");
}

function boundsOf({
  minimum,
  maximum,
  minLength,
  maxLength,
  minItems,
  maxItems,
  maxProperties,
}: JsonSchema): string {
  const limits = [
    between(minimum, maximum, ""),
    // "Not empty" goes without saying where a value has to be written.
    between(minLength === 1 ? undefined : minLength, maxLength, " characters"),
    between(minItems, maxItems, " items"),
    between(undefined, maxProperties, " entries"),
  ];
  return limits.filter((limit) => limit !== "").join(", ");
}

function between(least: number | undefined, most: number | undefined, what: string): string {
  if (least !== undefined && most !== undefined) return `${least} to ${most}${what}`;
  if (least !== undefined) return `at least ${least}${what}`;
  return most === undefined ? "" : `at most ${most}${what}`;
}
