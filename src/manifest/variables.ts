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
import type { Json } from "../api/json.js";
import { holdsUnknown, unknownValue } from "../api/unknown.js";

/** What a program gives: it keeps its type, and may be, or hold, what is not known yet (src/api/unknown). */
interface TypedValue {
  readonly typed: Json;
}

/** A text is that of an option: YAML tells its type. */
type VariableValue = string | TypedValue;

/** Names that manifests may use, with their values; undefined: allowed, and not set. */
export type Variables = ReadonlyMap<string, VariableValue | undefined>;

/** Who says what variables are: options of a command, or the values of a program's `cluster()`. */
export type GivenBy = "options" | "program";

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
 * values are text, so that none of them adds a member. A typed value stays what it is, a list or an object
 * too, where it stands alone. Returns what has no value. Changes the document.
 */
export function substitute(
  document: Document,
  variables: Variables,
  givenBy: GivenBy = "options",
): Unresolved[] {
  const unresolved: Unresolved[] = [];
  const words = givenBy === "program" ? programWords : optionWords;
  const made = new Set<Node>();
  visit(document, {
    // What a value holds is data: no variable of ours.
    Collection: (_where, node) => (made.has(node) ? visit.SKIP : undefined),
    Scalar: (where, node, ancestors) => {
      const { value } = node;
      if (typeof value !== "string" || !value.includes("${")) return;
      const path = pathOf([...ancestors, node]);
      const refuse = (why: Words) => {
        unresolved.push({ path, offset: node.range?.[0] ?? 0, ...why });
      };
      if (where === "key") return refuse(inKey);
      if (path.at(-1) === textOfAnObject) return refuse(inText);
      const put = valueOf(node, value, { variables, refuse, words });
      if (typeof put !== "object" || put === null) {
        node.value = put;
        return undefined;
      }
      const collection = document.createNode(put);
      collection.range = node.range ?? null;
      made.add(collection);
      return collection;
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
  readonly words: GiverWords;
}

function valueOf(scalar: Scalar, text: string, resolution: Resolution): Json {
  const [, only] = /^\$\{([A-Za-z_]\w*)\}$/.exec(text) ?? [];
  const value = only === undefined ? undefined : resolution.variables.get(only);
  const isPlain = scalar.type === "PLAIN" && scalar.tag === undefined;
  if (typeof value === "object") {
    const { typed } = value;
    const isQuoted = !isPlain && (typeof typed === "number" || typeof typed === "boolean");
    return isQuoted ? String(typed) : typed;
  }
  const replaced = textOf(text, resolution);
  return value !== undefined && isPlain ? typedScalar(replaced) : replaced;
}

/** A text with values in it; unknown as a whole with one that is. */
function textOf(text: string, { variables, refuse, words }: Resolution): string {
  const isUnknown = (name: string) => {
    const value = variables.get(name);
    return typeof value === "object" && holdsUnknown(value.typed);
  };
  const replaced = text.replace(reference, (found, name?: string) => {
    if (found === "$${") return "${";
    const value = name === undefined ? undefined : variables.get(name);
    if (typeof value === "string") return value;
    if (value === undefined) {
      refuse(refusalOf(name, variables, words));
      return found;
    }
    if (typeof value.typed === "object") {
      refuse({ summary: `${String(name)} is no text`, hint: "let it be the whole of a field" });
    }
    return String(value.typed);
  });
  return variablesIn(text).some(isUnknown) ? unknownValue : replaced;
}

/**
 * What to do about a value that is refused although nobody allowed variables: one stands in it, where it
 * is none of any text. Undefined for a value without one. Pure.
 */
export function forgottenVariable(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const names = variablesIn(value);
  if (names.length === 0) return undefined;
  const written = names.map((name) => `\${${name}}`).join(", ");
  const what = names.length === 1 ? "is a variable" : "are variables";
  const given = names.map((name) => `--var ${name}=VALUE`).join(" ");
  const options = `${given}, or --var-from-env ${names.join(",")}`;
  return `${written} ${what} without a value: give one with ${options}; or, in a Pulumi program, in the values of cluster()`;
}

/** Names in the order of the text, each once. */
function variablesIn(text: string): string[] {
  return [...new Set([...text.matchAll(reference)].flatMap(([, name]) => name ?? []))];
}

/** What to do about a variable without a value, by who gives values. */
interface GiverWords {
  readonly notSet: (name: string) => string;
  readonly notAllowed: (name: string) => string;
}

const optionWords: GiverWords = {
  notSet: (name) =>
    `--var-from-env allows it, and the environment lacks it: export it, or give --var ${name}=VALUE`,
  notAllowed: (name) => `allow it with --var ${name}=VALUE or --var-from-env ${name}`,
};

const programWords: GiverWords = {
  notSet: (name) => `what the program gives for ${name} in the values of cluster() has no value`,
  notAllowed: (name) => `give ${name} in the values of cluster()`,
};

function refusalOf(name: string | undefined, variables: Variables, words: GiverWords): Words {
  if (name === undefined) {
    return { summary: `a variable is written as \${NAME}, and nothing else`, hint: escapeHint };
  }
  if (variables.has(name)) {
    return {
      summary: `variable ${name} is not set`,
      hint: words.notSet(name),
    };
  }
  const known = [...variables.keys()].sort().join(", ") || "none";
  return {
    summary: `variable ${name} is not allowed`,
    hint: `known: ${known}; ${words.notAllowed(name)}, or ${escapeHint}`,
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
