/** Where something stands. Line and column count from 1; file is as the user named it. */
export interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** One thing that is wrong or suspicious in what a user gave. */
export interface Diagnostic {
  readonly severity: "error" | "warning";
  readonly position: Position;
  /** The object, e.g. "Machine default/cp-0"; absent where no object could be read. */
  readonly subject?: string;
  /** Dotted path inside the object, e.g. "spec.versions.kubelet"; absent for whole objects. */
  readonly path?: string;
  readonly summary: string;
  readonly hint?: string;
}

/** "file:line:column: error: subject: path: summary", and the hint on a line of its own. */
export function diagnosticText(diagnostic: Diagnostic): string {
  const { position, severity, subject, path, summary, hint } = diagnostic;
  const about = [subject, path, summary].filter((part) => part !== undefined && part !== "");
  const first = `${position.file}:${position.line}:${position.column}: ${severity}: ${about.join(": ")}`;
  return hint === undefined ? first : `${first}\n  hint: ${hint}`;
}

/** By file, then line, then column; equal positions keep their order. */
export function byPosition(left: Diagnostic, right: Diagnostic): number {
  return (
    left.position.file.localeCompare(right.position.file) ||
    left.position.line - right.position.line ||
    left.position.column - right.position.column
  );
}
