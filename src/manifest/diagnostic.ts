import type { DiagnosticCode } from "../api/diagnostic-codes.js";

/** Where something stands in a text. Line and column count from 1; file is as the user named it. */
export interface TextPosition {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The same, or an option in the place of the file, of what stands in no text. */
export type Position =
  TextPosition | { readonly file: string; readonly line?: never; readonly column?: never };

/** "file:line:column", or the option. */
export function placeText({ file, line, column }: Position): string {
  return line === undefined ? file : `${file}:${line}:${column}`;
}

/** One thing that is wrong or suspicious in what a user gave. */
export interface Diagnostic {
  readonly code: DiagnosticCode;
  readonly severity: "error" | "warning";
  readonly position: Position;
  /** The object, e.g. "Machine default/cp-0"; absent where no object could be read. */
  readonly subject?: string;
  /** Dotted path inside the object, e.g. "spec.versions.kubelet"; absent for whole objects. */
  readonly path?: string;
  /** What is wrong, in a few words. */
  readonly summary: string;
  /** Why it matters, in full sentences, where that helps. */
  readonly detail?: string;
  /** The next action. */
  readonly hint?: string;
}

/** "file:line:column: error: subject: path: summary", with detail and hint on lines of their own. */
export function diagnosticText(diagnostic: Diagnostic): string {
  const { position, severity, subject, path, summary, detail, hint } = diagnostic;
  const about = [subject, path, summary].filter((part) => part !== undefined && part !== "");
  return [
    `${placeText(position)}: ${severity}: ${about.join(": ")}`,
    ...(detail === undefined ? [] : [`  ${detail}`]),
    ...(hint === undefined ? [] : [`  hint: ${hint}`]),
  ].join("\n");
}

/** The same without its place and its object, in one line, for whoever is told both otherwise. Pure. */
export function diagnosisText({
  path = "",
  summary,
  hint,
}: Pick<Diagnostic, "path" | "summary" | "hint">): string {
  const what = path === "" ? summary : `${path}: ${summary}`;
  return hint === undefined ? what : `${what}; ${hint}`;
}

/** By file, then line, then column; equal positions keep their order. */
export function byPosition(left: Diagnostic, right: Diagnostic): number {
  return (
    left.position.file.localeCompare(right.position.file, "en") ||
    (left.position.line ?? 0) - (right.position.line ?? 0) ||
    (left.position.column ?? 0) - (right.position.column ?? 0)
  );
}
