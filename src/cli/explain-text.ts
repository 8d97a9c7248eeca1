import type { ExplainedField, Explanation, FieldFacts } from "../api/explain.js";
import { wrap } from "./fit.js";

interface ExplainTextOptions {
  /** All fields below, names and types only. */
  readonly recursive: boolean;
  /** Descriptions are broken at this width. */
  readonly width: number;
}

/** An explanation in kubectl's form. */
export function explanationText(
  explanation: Explanation,
  { recursive, width }: ExplainTextOptions,
): string {
  const { group, kind, version, path, type, description, fields } = explanation;
  const seeAlso = seeAlsoLines(explanation);
  const field = path.at(-1);
  const sections = [
    [`GROUP:      ${group}`, `KIND:       ${kind}`, `VERSION:    ${version}`],
    ...(field === undefined ? [] : [[`FIELD: ${field} <${type}>`, ...limitsOf(explanation)]]),
    ["DESCRIPTION:", ...wrapped(description === "" ? "<empty>" : description, 4, width)],
    ...(fields.length === 0
      ? []
      : [["FIELDS:", ...(recursive ? nestedLines(fields, 1) : fieldLines(fields, width))]]),
    ...(seeAlso.length === 0
      ? []
      : [["SEE ALSO:", ...seeAlso.map((line) => `    capstan explain ${line}`)]]),
  ];
  return `${sections.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

function seeAlsoLines({ kind, seeAlso, otherVersions = [] }: Explanation): string[] {
  const versions = otherVersions.map(
    ({ apiVersion, deprecated }) =>
      `${kind} --api-version ${apiVersion}${deprecated ? "  (deprecated)" : ""}`,
  );
  return [...seeAlso, ...versions];
}

function fieldLines(fields: readonly ExplainedField[], width: number): string[] {
  return fields
    .flatMap((field) => [
      headOf(field, 1),
      ...limitsOf(field),
      ...(field.description === "" ? [] : wrapped(field.description, 4, width)),
      "",
    ])
    .slice(0, -1);
}

function nestedLines(fields: readonly ExplainedField[], depth: number): string[] {
  return fields.flatMap((field) => [headOf(field, depth), ...nestedLines(field.fields, depth + 1)]);
}

function headOf({ name, type, required }: ExplainedField, depth: number): string {
  return `${"  ".repeat(depth)}${name}\t<${type}>${required ? " -required-" : ""}`;
}

function limitsOf(facts: FieldFacts): string[] {
  const fallback = facts.default;
  return [
    ...(facts.allowed === undefined ? [] : [`  enum: ${facts.allowed.join(", ")}`]),
    ...(facts.bounds === undefined ? [] : [`  range: ${facts.bounds}`]),
    ...(fallback === undefined
      ? []
      : [`  default: ${typeof fallback === "string" ? fallback : JSON.stringify(fallback)}`]),
  ];
}

/** A text broken between words, every line indented. */
function wrapped(text: string, indent: number, width: number): string[] {
  return wrap(text, Math.max(20, width - indent)).map((line) => " ".repeat(indent) + line);
}
