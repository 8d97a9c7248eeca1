import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { TSchema } from "typebox";
import type { Violation } from "./diagnostic-codes.js";

/** Its code runs for some objects: to optimise it takes longer than all of them do. */
const ajv = new Ajv({
  allErrors: true,
  useDefaults: true,
  strict: false,
  verbose: true,
  validateSchema: false,
  code: { optimize: false },
});
const compiled = new WeakMap<TSchema, ValidateFunction>();

/**
 * Checks a value against a schema and fills in defaults, in place. Returns every violation, none
 * for a valid value. Pure but for the defaults; schemas are compiled once.
 */
export function validate(schema: TSchema, value: unknown): Violation[] {
  let check = compiled.get(schema);
  if (check === undefined) {
    check = ajv.compile(schema);
    compiled.set(schema, check);
  }
  if (check(value)) return [];
  return withoutEchoes(check.errors ?? []).map(violationOf);
}

/** A failed union reports each branch and the union itself: one of them is enough. */
function withoutEchoes(errors: readonly ErrorObject[]): ErrorObject[] {
  const isUnion = ({ keyword }: ErrorObject) => keyword === "anyOf" || keyword === "oneOf";
  const unions = errors.filter(isUnion);
  return errors.filter(
    (error) =>
      isUnion(error) ||
      !unions.some(
        ({ schemaPath, instancePath }) =>
          error.schemaPath.startsWith(`${schemaPath}/`) && error.instancePath === instancePath,
      ),
  );
}

function violationOf(error: ErrorObject): Violation {
  const path = error.instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  const shown = shorten(error.data);
  switch (error.keyword) {
    case "additionalProperties":
      return unknownField(path, error);
    case "required": {
      const field = String(error.params["missingProperty"]);
      return { code: "FIELD_MISSING", path, summary: `missing field "${field}"` };
    }
    case "const": {
      const allowed = JSON.stringify(error.params["allowedValue"]);
      return { code: "NOT_ALLOWED", path, summary: `${shown} must be ${allowed}` };
    }
    case "enum": {
      const allowed = error.params["allowedValues"] as unknown[];
      const summary = `${shown} is not one of ${allowed.join(", ")}`;
      return { code: "NOT_ALLOWED", path, summary };
    }
    case "not": {
      const why: unknown = (error.schema as { readonly description?: unknown }).description;
      const summary = typeof why === "string" ? why : `${shown} is not allowed`;
      return { code: "NOT_ALLOWED", path, summary };
    }
    case "oneOf":
    case "anyOf": {
      const options = alternativesOf(error.schema);
      if (options !== undefined) {
        return { code: "NOT_ALLOWED", path, summary: `${shown} is not ${options}` };
      }
      const summary = `${shown} is not of an accepted form`;
      return { code: "NOT_ALLOWED", path, summary, ...formHint(error) };
    }
    case "pattern": {
      const summary = `${shown} has the wrong form`;
      return { code: "BAD_FORMAT", path, summary, ...formHint(error) };
    }
    case "type": {
      const summary = `${shown} must be of type ${String(error.params["type"])}`;
      return { code: "WRONG_TYPE", path, summary, ...typeHint(error), ...wantedShape(error) };
    }
    default:
      return {
        code: "NOT_ALLOWED",
        path,
        summary: `${shown} ${error.message ?? "is not allowed"}`,
      };
  }
}

/** A field's description says what form its value has. */
function formHint({ parentSchema }: ErrorObject): Pick<Violation, "hint"> {
  const description: unknown = parentSchema?.["description"];
  return typeof description === "string" ? { hint: description } : {};
}

/** YAML takes a bare 1 for a number: where any text may stand, quotes are what is missing. */
function typeHint(error: ErrorObject): Pick<Violation, "hint"> {
  const { data, params, parentSchema } = error;
  const isBare = typeof data === "number" || typeof data === "boolean";
  if (!isBare || params["type"] !== "string") return {};
  const quoted = `write it in quotes: "${String(data)}"`;
  const { hint } = parentSchema?.["pattern"] === undefined ? {} : formHint(error);
  return { hint: hint === undefined ? quoted : `${quoted}. ${hint}` };
}

function wantedShape({ params }: ErrorObject): Pick<Violation, "wanted"> {
  if (params["type"] === "array") return { wanted: "list" };
  return params["type"] === "object" ? { wanted: "object" } : {};
}

/** A value as it appears in a message: enough to recognise it. */
function shorten(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}

/** What the KEP and the first tags called fields: read where the new name is absent. */
const olderNames: ReadonlyMap<string, string> = new Map([
  ["dnsDomain", "serviceDomain"],
  ["providerConfig", "providerSpec"],
]);

function unknownField(path: Violation["path"], error: ErrorObject): Violation {
  const field = String(error.params["additionalProperty"]);
  const known = Object.keys((error.parentSchema?.["properties"] ?? {}) as object);
  const newer = olderNames.get(field);
  if (newer !== undefined && known.includes(newer)) {
    const summary = `older spelling of ${newer}, which is there too`;
    return { code: "FIELD_UNKNOWN", path: [...path, field], summary, hint: "write one of them" };
  }
  const near = nearest(field, known);
  return {
    code: "FIELD_UNKNOWN",
    path: [...path, field],
    summary: `unknown field "${field}"`,
    hint: near === undefined ? `known fields: ${known.join(", ")}` : `did you mean "${near}"?`,
  };
}

function alternativesOf(schema: unknown): string | undefined {
  if (!Array.isArray(schema)) return undefined;
  const constants = schema.map((branch: { const?: unknown }) => branch.const);
  if (constants.every((value) => value !== undefined)) return `one of ${constants.join(", ")}`;
  return undefined;
}

/** The known word with the fewest edits, among those that are near enough for a slip. Pure. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const [best] = known
    .filter((candidate) => isSlip(word, candidate))
    .map((candidate) => ({ candidate, distance: distanceOf(word, candidate) }))
    .sort((left, right) => left.distance - right.distance);
  return best?.candidate;
}

/** A long prefix that two names share makes the rest of them no more alike: "Machine/a", "Machine/b". */
function isSlip(word: string, candidate: string): boolean {
  const parts = word.split(/[/.]/);
  const others = candidate.split(/[/.]/);
  if (parts.length !== others.length) return isNear(word, candidate);
  return parts.every((part, index) => isNear(part, others[index] ?? ""));
}

function isNear(word: string, candidate: string): boolean {
  const slips = Math.min(Math.max(1, Math.floor(word.length / 3)), Math.max(0, word.length - 1));
  return distanceOf(word, candidate) <= slips;
}

function distanceOf(word: string, candidate: string): number {
  return editDistance(word.toLowerCase(), candidate.toLowerCase());
}

/** Insertions, deletions, substitutions, and swaps of neighbours between two words, one row at a time. */
function editDistance(left: string, right: string): number {
  let before: number[] = [];
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const substitute = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      const isSwap = left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      const swap = isSwap ? (before[j - 2] ?? Infinity) + 1 : Infinity;
      next.push(Math.min(substitute, swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[right.length] ?? 0;
}
