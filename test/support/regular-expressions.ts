import { type AST, RegExpParser } from "@eslint-community/regexpp";
import ts from "typescript";
import type { Sources } from "../structure/sources.js";

/** A regular expression of the product. */
export interface FoundExpression {
  /** "src/api/visible.ts:8". */
  readonly place: string;
  readonly expression: RegExp;
}

/** An expression that is made at run time, which no reader of the source can know. */
export interface MadeExpression {
  readonly place: string;
  /** The names that it is made from: "escape" of a template that holds nothing but `escape`. */
  readonly madeFrom: string;
}

interface Collected {
  readonly found: readonly FoundExpression[];
  readonly made: readonly MadeExpression[];
}

/**
 * Every regular expression in the sources: literals, arguments of RegExp, and the patterns of schemas.
 * What is no literal comes from `known`, by the names that it is made from. Pure.
 */
export function expressionsIn(
  sources: Sources,
  known: Readonly<Record<string, RegExp>>,
): Collected {
  const found: FoundExpression[] = [];
  const made: MadeExpression[] = [];
  for (const [path, text] of sources) {
    const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
    const look = (node: ts.Node): void => {
      const place = `${path}:${file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1}`;
      if (ts.isRegularExpressionLiteral(node)) found.push({ place, expression: asRegExp(node) });
      const from = patternAt(node);
      if (from !== undefined && !ts.isRegularExpressionLiteral(from)) {
        const madeFrom = namesIn(from).join(" ");
        const expression = ts.isStringLiteral(from) ? new RegExp(from.text, "u") : known[madeFrom];
        if (expression === undefined) made.push({ place, madeFrom });
        else found.push({ place, expression });
      }
      ts.forEachChild(node, look);
    };
    look(file);
  }
  return { found, made };
}

/** What a node takes for a pattern, if it takes any. */
function patternAt(node: ts.Node): ts.Expression | undefined {
  const isConstructor =
    (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
    ts.isIdentifier(node.expression) &&
    node.expression.text === "RegExp";
  if (isConstructor) return node.arguments?.[0];
  const isPattern =
    ts.isPropertyAssignment(node) && ts.isIdentifier(node.name) && node.name.text === "pattern";
  return isPattern ? node.initializer : undefined;
}

/** Names of values in an expression, in order, without those of members. */
function namesIn(expression: ts.Node): string[] {
  if (ts.isPropertyAccessExpression(expression)) return namesIn(expression.expression);
  if (ts.isIdentifier(expression)) return expression.text === "Object" ? [] : [expression.text];
  const names: string[] = [];
  ts.forEachChild(expression, (child) => void names.push(...namesIn(child)));
  return names;
}

function asRegExp({ text }: ts.RegularExpressionLiteral): RegExp {
  const end = text.lastIndexOf("/");
  return new RegExp(text.slice(1, end), text.slice(end + 1));
}

/** A hostile text: a beginning, and what is repeated after it until the text is long enough. */
export interface HostileShape {
  readonly beginning: string;
  readonly repeated: string;
  readonly end: string;
}

/** Words of credentials, separators and brackets: hostile to any expression. */
const anyones = ["eyJ-", ".", " ", "\n", "\r\n", "0", "a", "-", "[", "]", "{", "(", ":", "/", "\\"];
const pairs = ["a.", "a ", "0.", "a0", "a:", "a://", "-a", "${", "{{", "0-", ", "];
/** Ends that most expressions do not expect, so that every way through the text before is tried. */
const ends = ["\u0000", "\n\u0000"];

/**
 * Shapes that drive an expression into its slowest: for each of its parts a text that leads there, followed by repeats of what
 * the part takes, of all that was taken so far, and of every character that the part shares with others. Pure.
 */
export function hostileShapes(expression: RegExp): HostileShape[] {
  const beginnings = new Map<string, Set<string>>([["", new Set([...anyones, ...pairs])]]);
  const add = (beginning: string, repeated: string) => {
    if (repeated === "") return;
    const its = beginnings.get(beginning) ?? new Set<string>();
    beginnings.set(beginning, its.add(repeated));
  };
  const samples = new Samples(expression);
  const walk = (alternatives: readonly AST.Alternative[], before: string): void => {
    for (const { elements } of alternatives) {
      let taken = before;
      for (const element of elements) {
        const inner = element.type === "Quantifier" ? element.element : element;
        if ("alternatives" in inner) walk(inner.alternatives, taken);
        for (const one of samples.of(element)) {
          add("", one);
          add(taken, one);
        }
        taken += samples.of(element)[0] ?? "";
        add("", taken);
      }
    }
  };
  walk(samples.pattern.alternatives, "");
  return [...beginnings].flatMap(([beginning, units]) =>
    [...units].flatMap((repeated) => ends.map((end) => ({ beginning, repeated, end }))),
  );
}

const everyday = Array.from("a0Z-_./:= \n\t\r\\\"'[](){}#@+%,;*!|<>&$^`~\u0001\u202e\u00e9\ufffd");

/** Texts that single parts of an expression take. */
class Samples {
  readonly pattern: AST.Pattern;
  private readonly isUnicode: boolean;
  private readonly alphabet: readonly string[];

  constructor({ source, unicode }: RegExp) {
    this.isUnicode = unicode;
    this.pattern = new RegExpParser().parsePattern(source, 0, source.length, { unicode });
    const own = source.match(/\w/g) ?? [];
    this.alphabet = [...new Set([...everyday, ...own])];
  }

  /** At least one; several of a class of characters. */
  of(element: AST.Element | AST.QuantifiableElement): string[] {
    switch (element.type) {
      case "Character":
        return [String.fromCodePoint(element.value)];
      case "CharacterSet":
      case "CharacterClass":
        return this.inClass(element.raw);
      case "Group":
      case "CapturingGroup":
        return element.alternatives.map(({ elements }) =>
          elements.map((one) => this.of(one)[0] ?? "").join(""),
        );
      case "Quantifier": {
        const times = Math.max(1, Math.min(element.min, 64));
        return this.of(element.element).map((one) => one.repeat(times));
      }
      default:
        return [""];
    }
  }

  private inClass(raw: string): string[] {
    const one = new RegExp(`^${raw}$`, this.isUnicode ? "us" : "s");
    return this.alphabet.filter((char) => one.test(char)).slice(0, 6);
  }
}

/** The text of a shape, of so many characters. Pure. */
export function textOf({ beginning, repeated, end }: HostileShape, length: number): string {
  const body = repeated.repeat(Math.ceil(length / repeated.length));
  return `${beginning}${body}`.slice(0, length - end.length) + end;
}
