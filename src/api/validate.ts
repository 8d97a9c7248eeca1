import type { TSchema } from "typebox";
import { Errors } from "typebox/schema";
import { Settings } from "typebox/system";
import type { Violation } from "./diagnostic-codes.js";
import { isJsonObject } from "./json.js";
import { secretFieldsIn, secretText } from "./secret-fields.js";

// All problems at once, however many there are.
Settings.Set({ maxErrors: Number.POSITIVE_INFINITY });

/** One problem, with what it is about. */
interface Problem {
  readonly keyword: string;
  /** As JSON pointers: of the schema that is not met, and of what does not meet it. */
  readonly schemaPath: string;
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message: string;
  readonly schema: unknown;
  readonly data: unknown;
  /** It is of a field that holds secrets: its value is not shown. */
  readonly isSecret: boolean;
}

/**
 * Checks a value against a schema and fills in defaults, in place. Returns every violation, none
 * for a valid value. Pure but for the defaults. The schema is read anew each time: a command checks few objects, and to compile it
 * takes longer than all of them.
 */
export function validate(schema: TSchema, value: unknown): Violation[] {
  fillDefaults(schema, value);
  const [isValid, errors] = Errors(schema, value);
  if (isValid) return [];
  const secret = new Set(secretFieldsIn(schema));
  const problems = errors.map((error): Problem => ({
    ...error,
    params: { ...error.params },
    schema: pointedAt(schema, error.schemaPath.replace(/^#/, "")),
    data: pointedAt(value, error.instancePath),
    isSecret: secret.has(partsOf(error.instancePath)[0] ?? ""),
  }));
  return withoutEchoes(problems).flatMap(violationsOf);
}

/** Of fields and of what lies in them. Unions give none: what they are is not known before they are checked. */
function fillDefaults(schema: unknown, value: unknown): void {
  const { items, additionalProperties } = membersOf(schema);
  if (Array.isArray(value)) {
    for (const item of value) fillDefaults(items, item);
  } else if (isJsonObject(value)) {
    const properties = membersOf(membersOf(schema)["properties"]);
    const filled: Record<string, unknown> = value;
    for (const [name, property] of Object.entries(properties)) {
      const { default: given } = membersOf(property);
      if (filled[name] === undefined && given !== undefined) filled[name] = structuredClone(given);
    }
    for (const [name, member] of Object.entries(value)) {
      fillDefaults(
        Object.hasOwn(properties, name) ? properties[name] : additionalProperties,
        member,
      );
    }
  }
}

function membersOf(schema: unknown): Readonly<Record<string, unknown>> {
  return typeof schema === "object" && schema !== null ? { ...schema } : {};
}

/** By a JSON pointer; undefined where nothing is. */
function pointedAt(root: unknown, pointer: string): unknown {
  return partsOf(pointer).reduce<unknown>(
    (at, part) => (typeof at === "object" && at !== null ? (at as never)[part] : undefined),
    root,
  );
}

function partsOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** A failed union reports each branch and the union itself, and an unknown field its value and itself: one of them is enough. */
function withoutEchoes(problems: readonly Problem[]): Problem[] {
  const isUnion = ({ keyword }: Problem) => keyword === "anyOf" || keyword === "oneOf";
  const unions = problems.filter(isUnion);
  return problems.filter(
    (problem) =>
      problem.keyword !== "boolean" &&
      (isUnion(problem) ||
        !unions.some(
          ({ schemaPath, instancePath }) =>
            problem.schemaPath.startsWith(`${schemaPath}/`) &&
            problem.instancePath === instancePath,
        )),
  );
}

/** Fields are told of one by one. */
function violationsOf(problem: Problem): Violation[] {
  const path = partsOf(problem.instancePath).map((part) =>
    /^\d+$/.test(part) ? Number(part) : part,
  );
  const { params } = problem;
  switch (problem.keyword) {
    case "additionalProperties":
      // Where others are allowed, what is wrong with one of them is told of its value.
      if (pointedAt(problem.schema, "/additionalProperties") !== false) return [];
      return namesIn(params["additionalProperties"]).map((field) =>
        unknownField(path, field, problem.schema),
      );
    case "required":
      return namesIn(params["requiredProperties"]).map((field) => ({
        code: "FIELD_MISSING",
        path,
        summary: `missing field "${field}"`,
      }));
    default:
      return [violationOf(problem, path)];
  }
}

function namesIn(list: unknown): string[] {
  return (list as readonly string[]).map(String);
}

function violationOf(problem: Problem, path: Violation["path"]): Violation {
  const shown = shownOf(problem);
  const { params, schema } = problem;
  switch (problem.keyword) {
    case "const": {
      const allowed = JSON.stringify(params["allowedValue"]);
      return { code: "NOT_ALLOWED", path, summary: `${shown} must be ${allowed}` };
    }
    case "enum": {
      const allowed = params["allowedValues"] as unknown[];
      const summary = `${shown} is not one of ${allowed.join(", ")}`;
      return { code: "NOT_ALLOWED", path, summary };
    }
    case "not": {
      const why: unknown = pointedAt(schema, "/not/description");
      const summary = typeof why === "string" ? why : `${shown} is not allowed`;
      return { code: "NOT_ALLOWED", path, summary };
    }
    case "oneOf":
    case "anyOf": {
      const options = alternativesOf(pointedAt(schema, `/${problem.keyword}`));
      if (options !== undefined) {
        return { code: "NOT_ALLOWED", path, summary: `${shown} is not ${options}` };
      }
      const summary = `${shown} is not of an accepted form`;
      return { code: "NOT_ALLOWED", path, summary, ...formHint(problem) };
    }
    case "pattern": {
      const summary = `${shown} has the wrong form`;
      return { code: "BAD_FORMAT", path, summary, ...formHint(problem) };
    }
    case "type":
      return { code: "WRONG_TYPE", path, ...wrongType(problem), ...wantedShape(problem) };
    default:
      return {
        code: "NOT_ALLOWED",
        path,
        summary: `${shown} ${problem.message}`,
      };
  }
}

/** A field's description says what form its value has. */
function formHint({ schema }: Problem): Pick<Violation, "hint"> {
  const description = pointedAt(schema, "/description");
  return typeof description === "string" ? { hint: description } : {};
}

type Words = Pick<Violation, "summary" | "hint" | "bare">;

function wrongType(problem: Problem): Words {
  const { data, params, schema } = problem;
  const type = String(params["type"]);
  if (data === null) {
    const hint = "write one behind the colon, or take the field away";
    return { summary: `has no value: it must be of type ${type}`, hint };
  }
  const isBare = typeof data === "number" || typeof data === "boolean";
  if (!isBare || type !== "string" || problem.isSecret) {
    return { summary: `${shownOf(problem)} must be of type ${type}` };
  }
  const { hint = "" } = pointedAt(schema, "/pattern") === undefined ? {} : formHint(problem);
  const bare = { advice: hint };
  return { ...bareWords(String(data), bare), bare };
}

/** YAML takes a bare 1 for a number: where any text may stand, quotes around what is `written` are missing. Pure. */
export function bareWords(
  written: string,
  { advice }: NonNullable<Violation["bare"]>,
): Required<Pick<Violation, "summary" | "hint">> {
  const quoted = `write it in quotes: "${written}"`;
  return {
    summary: `${written} must be of type string`,
    hint: advice === "" ? quoted : `${quoted}. ${advice}`,
  };
}

function wantedShape({ params }: Problem): Pick<Violation, "wanted"> {
  if (params["type"] === "array") return { wanted: "list" };
  return params["type"] === "object" ? { wanted: "object" } : {};
}

/** A value as it appears in a message: enough to recognise it, and nothing of a secret. */
function shownOf({ data, isSecret }: Problem): string {
  if (isSecret) return secretText;
  const text = data === undefined ? "nothing" : JSON.stringify(data);
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`;
}

/** What the KEP and the first tags called fields: read where the new name is absent. */
const olderNames: ReadonlyMap<string, string> = new Map([
  ["dnsDomain", "serviceDomain"],
  ["providerConfig", "providerSpec"],
]);

function unknownField(path: Violation["path"], field: string, schema: unknown): Violation {
  const properties = pointedAt(schema, "/properties");
  const known = isJsonObject(properties) ? Object.keys(properties) : [];
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
