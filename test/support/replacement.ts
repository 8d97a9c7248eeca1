import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

// What a mutant replaces is named by importing it, so a rename by a tool renames the mutant along, and the
// compiler says where a place is gone or takes other arguments.

const root = fileURLToPath(new URL("../../../", import.meta.url));
const load = createRequire(import.meta.url);

type Behaviour = (...args: never[]) => unknown;
/** The same arguments and result as the original. */
type Same<Original extends Behaviour> = (...args: Parameters<Original>) => ReturnType<Original>;
/** Each member by its own name, as a tool renames it: `({ close }) => close` is "close". */
type NamesOf<Instance> = { readonly [Name in keyof Instance]: Name };
type Constructor<Instance> = abstract new (...args: never[]) => Instance;

/** Another behaviour of one function or method of the product. */
export interface Replacement {
  /** The export: the function, or the class of the method. */
  readonly exported: Behaviour | Constructor<object>;
  readonly method?: string;
  /** Code of a function from the original to what replaces it. */
  readonly by: string;
}

/**
 * Another behaviour of an exported function.
 *
 * @param by makes it of the original; the code of this function alone is copied, so it uses nothing but what it is given
 */
export function replaced<Original extends Behaviour>(
  exported: Original,
  by: (original: Original) => Same<Original>,
): Replacement {
  return { exported, by: selfContained(by.toString()) };
}

/**
 * Another behaviour of a method of an exported class.
 *
 * @param name which one: `({ close }) => close`
 * @param by as of `replaced`; the original and what replaces it get the instance as `this`
 */
export function replacedMethod<Instance extends object, Name extends keyof Instance>(
  exported: Constructor<Instance>,
  name: (names: NamesOf<Instance>) => Name,
  by: (
    original: Extract<Instance[Name], Behaviour>,
  ) => (
    this: Instance,
    ...args: Parameters<Extract<Instance[Name], Behaviour>>
  ) => ReturnType<Extract<Instance[Name], Behaviour>>,
): Replacement {
  const names = new Proxy({}, { get: (_, member) => member }) as NamesOf<Instance>;
  return { exported, method: String(name(names)), by: selfContained(by.toString()) };
}

/** A compiled module, relative to the repository, and its code with the replacement. */
export interface ReplacedModule {
  readonly file: string;
  readonly code: string;
}

/** @throws AssertionError where the place is gone: it is not exported by the product, or it is no function */
export function withReplacement(
  { exported, method, by }: Replacement,
  read: (file: string) => string,
): ReplacedModule {
  const { name } = exported;
  const file = moduleOf(exported);
  const code = read(file);
  if (method !== undefined) {
    const prototype = exported.prototype as Record<string, unknown>;
    assert.ok(typeof prototype[method] === "function", `${file}: ${name} has no method ${method}`);
    const place = `${name}.prototype.${method}`;
    return { file, code: `${code}\n${place} = (${by})(${place});\n` };
  }
  // A function is replaced before anything of its module runs; a constant cannot be before it is there.
  const isFunction = declarations.function(name).test(code);
  if (isFunction) return { file, code: `${name} = (${by})(${name}); ${code}` };
  const open = code.replace(new RegExp(`^export const (?=${name}\\b)`, "m"), "export let ");
  return { file, code: `${open}\n${name} = (${by})(${name});\n` };
}

const declarations = {
  function: (name: string) => new RegExp(`^export (async )?function\\*? ${name}\\(`, "m"),
  other: (name: string) => new RegExp(`^export (const|(abstract )?class) ${name}\\b`, "m"),
};

/** The module whose export this is, itself: several may export something of its name. */
function moduleOf(exported: Replacement["exported"]): string {
  const { name } = exported;
  const isDeclaredIn = (code: string) =>
    Object.values(declarations).some((declaration) => declaration(name).test(code));
  const files = globSync("dist/{src,providers}/**/*.js", { cwd: root })
    .filter((file) => isDeclaredIn(readFileSync(join(root, file), "utf8")))
    .filter((file) => (load(join(root, file)) as Record<string, unknown>)[name] === exported);
  const [file, ...others] = files;
  assert.ok(
    file !== undefined,
    `no module of the product exports ${name}: the mutant's place is gone`,
  );
  assert.deepEqual(others, [], `${name} is declared once`);
  return file;
}

/** @throws AssertionError where the code uses something of its surroundings, which are not there in a mutant */
function selfContained(code: string): string {
  const source = ts.createSourceFile("by.js", `(${code})`, ts.ScriptTarget.Latest, true);
  const declared = new Set(["arguments", "undefined"]);
  const used = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) {
      if (isDeclaration(node)) declared.add(node.text);
      else if (!isMemberName(node)) used.add(node.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  const missing = [...used].filter((name) => !declared.has(name) && !(name in globalThis));
  assert.deepEqual(missing, [], `a replacement uses what it is not given: ${code}`);
  return code;
}

function isDeclaration(node: ts.Identifier): boolean {
  const { parent } = node;
  const declares =
    ts.isParameter(parent) ||
    ts.isVariableDeclaration(parent) ||
    ts.isBindingElement(parent) ||
    ts.isFunctionLike(parent);
  return declares && parent.name === node;
}

/** Names of members are looked up in what has them, not in the surroundings. */
function isMemberName(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node;
  if (ts.isBindingElement(parent)) return parent.propertyName === node;
  return (
    (ts.isPropertyAssignment(parent) || ts.isMethodDeclaration(parent)) && parent.name === node
  );
}
