import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { TSchema } from "typebox";

/** A violated rule. `path` leads from the object's root to the member, or to the parent of a missing one. */
export interface Violation {
  readonly path: readonly (string | number)[];
  /** What is wrong, as a noun phrase. */
  readonly summary: string;
  readonly hint?: string;
}

const ajv = new Ajv({ allErrors: true, useDefaults: true, strict: false, verbose: true });
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
  const unions = errors.filter(({ keyword }) => keyword === "anyOf");
  return errors.filter(
    (error) =>
      error.keyword === "anyOf" ||
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
  const shown = JSON.stringify(error.data);
  switch (error.keyword) {
    case "additionalProperties": {
      const field = String(error.params["additionalProperty"]);
      const known = Object.keys((error.parentSchema?.["properties"] ?? {}) as object);
      const near = nearest(field, known);
      return {
        path: [...path, field],
        summary: `unknown field "${field}"`,
        hint: near === undefined ? `known fields: ${known.join(", ")}` : `did you mean "${near}"?`,
      };
    }
    case "required":
      return { path, summary: `missing field "${String(error.params["missingProperty"])}"` };
    case "const":
      return { path, summary: `${shown} must be ${JSON.stringify(error.params["allowedValue"])}` };
    case "enum": {
      const allowed = error.params["allowedValues"] as unknown[];
      return { path, summary: `${shown} is not one of ${allowed.join(", ")}` };
    }
    case "anyOf": {
      const options = alternativesOf(error.schema);
      return {
        path,
        summary: `${shown} is not ${options ?? "of an accepted form"}`,
      };
    }
    case "pattern":
      return {
        path,
        summary: `${shown} has the wrong form`,
        ...(typeof error.parentSchema?.["description"] === "string" && {
          hint: error.parentSchema["description"],
        }),
      };
    case "type":
      return { path, summary: `${shown} must be of type ${String(error.params["type"])}` };
    default:
      return { path, summary: `${shown} ${error.message ?? "is not allowed"}` };
  }
}

function alternativesOf(schema: unknown): string | undefined {
  if (!Array.isArray(schema)) return undefined;
  const constants = schema.map((branch: { const?: unknown }) => branch.const);
  if (constants.every((value) => value !== undefined)) return `one of ${constants.join(", ")}`;
  return undefined;
}

/** The known word with the fewest edits, if it is near enough to be a slip. */
function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((candidate) => ({
      candidate,
      distance: editDistance(word.toLowerCase(), candidate.toLowerCase()),
    }))
    .sort((left, right) => left.distance - right.distance);
  const best = ranked[0];
  return best !== undefined && best.distance <= Math.max(1, Math.floor(word.length / 3))
    ? best.candidate
    : undefined;
}

/** Levenshtein distance, one row at a time. */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const substitute = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(substitute, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
