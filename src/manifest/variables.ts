import {
  type Document,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  visit,
} from "yaml";
import type { MemberPath } from "../api/diagnostic-codes.js";

/** Names that manifests may use, with their values; undefined: allowed, and not set. */
export type Variables = ReadonlyMap<string, string | undefined>;

/** A variable that has no value. */
interface Unresolved {
  readonly path: MemberPath;
  /** Where the scalar begins in its text. */
  readonly offset: number;
  readonly summary: string;
  readonly hint: string;
}

/** "$${", `\${NAME}`, and "${" with anything else behind it. */
const reference = /\$\$\{|\$\{([A-Za-z_]\w*)\}|\$\{/g;

/** Older manifests keep an object in this field as a text, which is parsed later. */
const textOfAnObject = "providerConfig";

type Ancestors = readonly (Document | Node | Pair)[];

/**
 * Puts values in the place of `${NAME}` in the scalars of a document, and "${" in that of "$${". A plain
 * scalar that is one variable is a number or a truth value where YAML would take its text for one; else
 * values are text, so that none of them adds a member. Returns what has no value. Changes the document.
 */
export function substitute(document: Document, variables: Variables): Unresolved[] {
  const unresolved: Unresolved[] = [];
  visit(document, {
    Scalar: (where, node, ancestors) => {
      const { value } = node;
      if (typeof value !== "string" || !value.includes("${")) return;
      const path = pathOf([...ancestors, node]);
      const refuse = (words: Words) =>
        unresolved.push({ path, offset: node.range?.[0] ?? 0, ...words });
      if (where === "key") refuse(inKey);
      else if (path.at(-1) === textOfAnObject) refuse(inText);
      else node.value = valueOf(node, value, { variables, refuse });
    },
  });
  return unresolved;
}

type Words = Pick<Unresolved, "summary" | "hint">;

const escapeHint = "write $${ for a text that is no variable";
const inKey = {
  summary: "a key takes no variable",
  hint: "write the key as it is meant: only values take variables",
};
const inText = {
  summary: "an object that is written as a text takes no variable",
  hint: "write it as an object: providerSpec, with value",
};

interface Resolution {
  readonly variables: Variables;
  readonly refuse: (words: Words) => void;
}

function valueOf(
  { type, tag }: Scalar,
  text: string,
  { variables, refuse }: Resolution,
): string | number | boolean {
  const replaced = text.replace(reference, (found, name?: string) => {
    if (found === "$${") return "${";
    const value = name === undefined ? undefined : variables.get(name);
    if (value !== undefined) return value;
    refuse(refusalOf(name, variables));
    return found;
  });
  const isOneVariable = /^\$\{\w+\}$/.test(text) && type === "PLAIN" && tag === undefined;
  return isOneVariable ? typedScalar(replaced) : replaced;
}

/**
 * What to do about a value that is refused although nobody allowed variables: one stands in it, where it
 * is none of any text. Undefined for a value without one. Pure.
 */
export function forgottenVariable(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const names = [...new Set([...value.matchAll(reference)].flatMap(([, name]) => name ?? []))];
  if (names.length === 0) return undefined;
  const written = names.map((name) => `\${${name}}`).join(", ");
  const what = names.length === 1 ? "is a variable" : "are variables";
  const given = names.map((name) => `--var ${name}=VALUE`).join(" ");
  return `${written} ${what} without a value: give one with ${given}, or --var-from-env ${names.join(",")}`;
}

function refusalOf(name: string | undefined, variables: Variables): Words {
  if (name === undefined) {
    return { summary: `a variable is written as \${NAME}, and nothing else`, hint: escapeHint };
  }
  if (variables.has(name)) {
    return {
      summary: `variable ${name} is not set`,
      hint: `--var-from-env allows it, and the environment lacks it: export it, or give --var ${name}=VALUE`,
    };
  }
  const known = [...variables.keys()].sort().join(", ");
  return {
    summary: `variable ${name} is not allowed`,
    hint: `known: ${known}; allow it with --var ${name}=VALUE or --var-from-env ${name}, or ${escapeHint}`,
  };
}

/** A number or a truth value where YAML takes a plain text for one; the text anywhere else. Pure. */
export function typedScalar(text: string): string | number | boolean {
  const { contents, errors } = parseDocument(text);
  if (errors.length > 0 || !isScalar(contents) || contents.source !== text) return text;
  const { value, type } = contents;
  if (type !== "PLAIN") return text;
  const isNumber = typeof value === "number" && Number.isFinite(value);
  return isNumber || typeof value === "boolean" ? value : text;
}

function pathOf(nodes: Ancestors): MemberPath {
  return nodes.flatMap((node, index): MemberPath => {
    if (isPair(node)) return [String(isScalar(node.key) ? node.key.value : node.key)];
    const next = nodes[index + 1];
    return isSeq(node) && next !== undefined ? [node.items.indexOf(next)] : [];
  });
}
