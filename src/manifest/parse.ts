import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type Pair,
} from "yaml";
import type { MemberPath } from "../api/diagnostic-codes.js";
import type { Diagnostic, TextPosition } from "./diagnostic.js";
import { type GivenBy, substitute, type Variables } from "./variables.js";

/** A text to read manifests from. */
export interface SourceText {
  /** As the user named it; "-" for standard input. */
  readonly file: string;
  readonly text: string;
}

/** One YAML document as plain data, with a way back from any path in it to its position. */
export interface ParsedDocument {
  readonly value: unknown;
  /** Position of the member at the path, or of its nearest existing parent. */
  positionOf(path: MemberPath): TextPosition;
  /** Members whose variables have no value, which is told already. */
  readonly unresolved: readonly MemberPath[];
}

/**
 * Every document of a text that holds anything, and what the YAML parser objects to. Variables are
 * replaced in what was parsed, not in the text; without them `${NAME}` stands for itself. Pure.
 */
export function parseManifest(
  source: SourceText,
  variables?: Variables,
  givenBy?: GivenBy,
): {
  documents: ParsedDocument[];
  diagnostics: Diagnostic[];
} {
  const lines = new LineCounter();
  const parsed = parseAllDocuments(source.text, {
    lineCounter: lines,
    uniqueKeys: true,
    stringKeys: true,
    merge: true,
  });
  const documents: ParsedDocument[] = [];
  const diagnostics: Diagnostic[] = [];
  const at = (offset: number): TextPosition => {
    const { line, col } = lines.linePos(offset);
    return { file: source.file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  for (const document of Array.isArray(parsed) ? parsed : []) {
    const problems = [...document.errors, ...document.warnings];
    for (const problem of problems) {
      diagnostics.push({
        code: "YAML",
        severity: document.errors.includes(problem) ? "error" : "warning",
        position: at(problem.pos[0]),
        summary: `YAML: ${brief(problem.message)}`,
      });
    }
    if (document.errors.length > 0) continue;
    const unresolved = variables === undefined ? [] : substitute(document, variables, givenBy);
    for (const { offset, path, summary, hint } of unresolved) {
      const where = { position: at(offset), path: path.join(".") };
      diagnostics.push({ code: "VARIABLE", severity: "error", ...where, summary, hint });
    }
    const read = valueOf(document, at, diagnostics);
    if (read === undefined || read.value === null) continue;
    documents.push({
      value: read.value,
      positionOf: (path) => at(offsetOf(document, path)),
      unresolved: unresolved.map(({ path }) => path),
    });
  }
  return { documents, diagnostics };
}

/** The parser's words without position and excerpt: both are shown already. */
function brief(message: string): string {
  const [first = ""] = message.split("\n");
  const words = first.replace(/ at line \d.*/, "");
  return words.length <= 120 ? words : `${words.slice(0, 117)}...`;
}

/** Aliases are resolved with a bound, so that a small file cannot expand without end. */
function valueOf(
  document: Document.Parsed,
  at: (offset: number) => TextPosition,
  diagnostics: Diagnostic[],
): { value: unknown } | undefined {
  try {
    return { value: separate(document.toJS({ maxAliasCount: 100 })) };
  } catch (error) {
    diagnostics.push({
      code: "YAML",
      severity: "error",
      position: at(document.contents?.range[0] ?? 0),
      summary: `YAML: ${brief(error instanceof Error ? error.message : String(error))}`,
    });
    return undefined;
  }
}

/** A copy in which nothing is shared: a default filled in behind one alias must not show behind another. */
function separate(value: unknown, above: readonly unknown[] = []): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (above.includes(value)) throw new Error("an alias stands inside of what it names");
  const path = [...above, value];
  if (Array.isArray(value)) return value.map((item) => separate(item, path));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, separate(member, path)]),
  );
}

function offsetOf(document: Document.Parsed, path: readonly (string | number)[]): number {
  let node: Node | null = document.contents;
  let offset = node?.range?.[0] ?? 0;
  for (const part of path) {
    const current: Node | null = isAlias(node) ? (node.resolve(document) ?? null) : node;
    if (isMap(current)) {
      const pair: Pair | undefined = current.items.find(
        (item) => String((item.key as { value?: unknown } | null)?.value) === String(part),
      );
      if (pair === undefined) return offset;
      offset = (isNode(pair.key) ? pair.key.range?.[0] : undefined) ?? offset;
      node = isNode(pair.value) ? pair.value : null;
    } else if (isSeq(current)) {
      const item = current.items[Number(part)];
      if (!isNode(item)) return offset;
      offset = item.range?.[0] ?? offset;
      node = item;
    } else {
      return offset;
    }
  }
  return offset;
}
