import type { DiagnosticCode } from "../api/diagnostic-codes.js";

/** Where something stands. Line and column count from 1; file is as the user named it. */
export interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
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

/** The object that a diagnostic is about, from its subject; undefined for none. Pure. */
export function objectOf({ subject = "" }: Diagnostic): { kind: string; name: string } | undefined {
  const [kind = "", path = ""] = subject.split(" ");
  const [, name] = path.split("/");
  return name === undefined ? undefined : { kind, name };
}

/** "file:line:column: error: subject: path: summary", with detail and hint on lines of their own. */
export function diagnosticText(diagnostic: Diagnostic): string {
  const { position, severity, subject, path, summary, detail, hint } = diagnostic;
  const about = [subject, path, summary].filter((part) => part !== undefined && part !== "");
  return [
    `${position.file}:${position.line}:${position.column}: ${severity}: ${about.join(": ")}`,
    ...(detail === undefined ? [] : [`  ${detail}`]),
    ...(hint === undefined ? [] : [`  hint: ${hint}`]),
  ].join("\n");
}

/** By file, then line, then column; equal positions keep their order. */
export function byPosition(left: Diagnostic, right: Diagnostic): number {
  return (
    left.position.file.localeCompare(right.position.file, "en") ||
    left.position.line - right.position.line ||
    left.position.column - right.position.column
  );
}
