import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type Pair,
  visit,
} from "yaml";
import type { MemberPath } from "../api/diagnostic-codes.js";
import { omitUndefined } from "../api/omit-undefined.js";
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
  /** A scalar at the path as it is written without quotes, before YAML reads it: "1.30"; undefined of anything else. */
  writtenAt(path: MemberPath): string | undefined;
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
  /** The texts of documents that are no YAML: what they hold is not known. */
  unread: string[];
} {
  const lines = new LineCounter();
  const text = withoutMarks(source.text);
  const parsed = parseAllDocuments(text, {
    lineCounter: lines,
    uniqueKeys: true,
    stringKeys: true,
    merge: true,
  });
  const documents: ParsedDocument[] = [];
  const unread: string[] = [];
  const diagnostics: Diagnostic[] = [];
  const at = (offset: number): TextPosition => {
    const { line, col } = lines.linePos(offset);
    return { file: source.file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  for (const document of Array.isArray(parsed) ? parsed : []) {
    for (const problem of problemsOf(document)) {
      diagnostics.push({
        code: "YAML",
        severity: problem.isError ? "error" : "warning",
        position: at(problem.offset),
        ...problemWords(problem, { text, at }),
      });
    }
    if (document.errors.length > 0) {
      unread.push(text.slice(document.range[0], document.range[2]));
      continue;
    }
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
      writtenAt: (path) => {
        const node = document.getIn(path, true);
        return isScalar(node) && node.type === "PLAIN" ? node.source : undefined;
      },
      unresolved: unresolved.map(({ path }) => path),
    });
  }
  return { documents, diagnostics, unread };
}

/** A byte order mark begins files, and so documents of files that were joined. The parser knows that of the first one. */
function withoutMarks(text: string): string {
  return text.replace(/^\uFEFF(?=---)/gm, "").replace(/^(---[^\n]*\n)\uFEFF/gm, "$1");
}

interface Problem {
  readonly isError: boolean;
  readonly offset: number;
  readonly message: string;
  /** Of a key that stands twice in one object. */
  readonly duplicate?: { readonly key: string; readonly firstOffset: number };
  /** It takes several lines for one key, since the first of them has no colon. */
  readonly isKeyOfLines?: boolean;
}

/**
 * What the parser objects to. Behind the first error of syntax it is lost, and its further ones are about what it
 * made of the rest; keys that stand twice are told one by one.
 */
function problemsOf(document: Document.Parsed): Problem[] {
  const { errors, warnings } = document;
  const syntax = errors.filter(({ code }) => code !== "DUPLICATE_KEY").slice(0, 1);
  return [
    ...syntax.map(({ pos, message, code }) => ({
      isError: true,
      offset: pos[0],
      message,
      isKeyOfLines: code === "MULTILINE_IMPLICIT_KEY",
    })),
    ...(syntax.length > 0 ? [] : errors).map(({ pos, message }): Problem => {
      const duplicate = duplicateAt(document, pos[0]);
      return omitUndefined({ isError: true, offset: pos[0], message, duplicate });
    }),
    ...warnings.map(({ pos, message }) => ({ isError: false, offset: pos[0], message })),
  ];
}

function duplicateAt(document: Document.Parsed, offset: number): Problem["duplicate"] {
  let found: Problem["duplicate"];
  visit(document, {
    Map: (_where, { items }) => {
      const keys = items.flatMap(({ key }) => (isScalar(key) ? [key] : []));
      const again = keys.find(({ range }) => range?.[0] === offset);
      if (again === undefined) return undefined;
      const first = keys.find(({ value }) => value === again.value);
      found = { key: String(again.value), firstOffset: first?.range?.[0] ?? offset };
      return visit.BREAK;
    },
  });
  return found;
}

function problemWords(
  { offset, message, duplicate, isKeyOfLines = false }: Problem,
  { text, at }: { readonly text: string; readonly at: (offset: number) => TextPosition },
): Pick<Diagnostic, "summary" | "hint"> {
  if (duplicate !== undefined) {
    const { line } = at(duplicate.firstOffset);
    return {
      summary: `YAML: key ${JSON.stringify(duplicate.key)} is there twice; first in line ${line}`,
      hint: "take one of them away",
    };
  }
  const line = text.split("\n", at(offset).line).at(-1) ?? "";
  const shown = line.slice(0, maxLine).trim();
  const keyOnly = isKeyOfLines ? /^(?:- )?([A-Za-z_][\w./-]*)(?: ([^:#]+))?$/.exec(shown) : null;
  if (keyOnly !== null) {
    const [, key = "", value] = keyOnly;
    const meant = value === undefined ? `${key}:` : `${key}: ${value}`;
    return {
      summary: `YAML: a colon is missing behind ${JSON.stringify(key)}`,
      hint: `write ${JSON.stringify(meant)}`,
    };
  }
  const summary = `YAML: ${brief(message)}`;
  const [variable] = /\$\{[A-Za-z_]\w*\}/.exec(line.slice(0, maxLine)) ?? [];
  return variable === undefined
    ? { summary }
    : { summary, hint: `between { } and [ ] a variable has to be in quotes: "${variable}"` };
}

/** So much of a line is searched for what to say about it, characters. */
const maxLine = 1_000;

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
