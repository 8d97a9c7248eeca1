// The parameters of a call, whatever protocol brought them, and who has read which of them.

import { missingParameter, wrongValue } from "./api-error.js";

/** Parameters as a tree: texts, lists and objects. */
export type ParamTree = string | readonly ParamTree[] | { readonly [name: string]: ParamTree };

/**
 * Reads parameters by their names on the wire. What nobody has read of them is known in the end: the simulator refuses a
 * parameter that it would otherwise ignore.
 */
export class Params {
  private readonly read = new Map<string, Params[] | undefined>();

  constructor(
    private readonly tree: ParamTree,
    private readonly path = "",
  ) {}

  text(name: string): string | undefined {
    const value = this.take(name);
    if (value === undefined || typeof value === "string") return value;
    throw wrongValue(this.pathOf(name), "it is not a text");
  }

  /** Throws MissingParameter where it is not there. */
  required(name: string): string {
    const value = this.text(name);
    if (value === undefined || value === "") throw missingParameter(this.pathOf(name));
    return value;
  }

  flag(name: string): boolean | undefined {
    const value = this.text(name)?.toLowerCase();
    if (value === undefined) return undefined;
    if (value === "true" || value === "false") return value === "true";
    throw wrongValue(this.pathOf(name), `${value} is neither true nor false`);
  }

  number(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (/^-?\d+$/.test(value)) return Number(value);
    throw wrongValue(this.pathOf(name), `${value} is not an integer`);
  }

  texts(name: string): string[] {
    return listOf(this.take(name)).map((value, index) => {
      if (typeof value === "string") return value;
      throw wrongValue(`${this.pathOf(name)}.${index + 1}`, "it is not a text");
    });
  }

  objects(name: string): Params[] {
    const path = this.pathOf(name);
    const items = listOf(this.take(name)).map(
      (value, index) => new Params(value, `${path}.${index + 1}`),
    );
    this.read.set(name, items);
    return items;
  }

  object(name: string): Params | undefined {
    const value = this.take(name);
    if (value === undefined) return undefined;
    const inner = new Params(value, this.pathOf(name));
    this.read.set(name, [inner]);
    return inner;
  }

  /** Parameters that have no effect here, and of which that is known. */
  ignore(...names: readonly string[]): void {
    for (const name of names) this.take(name);
  }

  /** All of them count as read. */
  ignoreAll(): void {
    if (typeof this.tree !== "string") this.ignore(...Object.keys(this.tree));
  }

  /** Everything that was sent but what is named, as JSON; this counts as no reading. */
  sentBut(...names: readonly string[]): ParamTree {
    if (typeof this.tree === "string") return this.tree;
    const entries = Object.entries(this.tree as Readonly<Record<string, ParamTree>>);
    return Object.fromEntries(entries.filter(([name]) => !names.includes(name)));
  }

  /** Paths of what nobody has read. */
  unread(): string[] {
    if (typeof this.tree === "string" || Array.isArray(this.tree)) return [];
    return Object.keys(this.tree).flatMap((name) => {
      if (!this.read.has(name)) return [this.pathOf(name)];
      return (this.read.get(name) ?? []).flatMap((inner) => inner.unread());
    });
  }

  private take(name: string): ParamTree | undefined {
    this.read.set(name, undefined);
    if (typeof this.tree === "string" || Array.isArray(this.tree)) return undefined;
    return (this.tree as Readonly<Record<string, ParamTree>>)[name];
  }

  private pathOf(name: string): string {
    return this.path === "" ? name : `${this.path}.${name}`;
  }
}

/** Lists are sent bare or below `member`, and empty ones as an empty text. */
function listOf(value: ParamTree | undefined): readonly ParamTree[] {
  if (value === undefined || value === "") return [];
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value as readonly ParamTree[];
  return listOf((value as Readonly<Record<string, ParamTree>>)["member"]);
}

/** The tree of parameters with paths for names, such as `Filter.1.Name`. Pure. */
export function treeOf(flat: Readonly<Record<string, string>>): ParamTree {
  const root: Branch = new Map();
  for (const [path, value] of Object.entries(flat)) {
    const names = path.split(".");
    const last = names.pop() ?? "";
    let branch = root;
    for (const name of names) {
      const next = branch.get(name);
      const inner: Branch = next instanceof Map ? next : new Map<string, Branch | string>();
      branch.set(name, inner);
      branch = inner;
    }
    branch.set(last, value);
  }
  return plain(root);
}

type Branch = Map<string, Branch | string>;

function plain(branch: Branch | string): ParamTree {
  if (typeof branch === "string") return branch;
  const names = [...branch.keys()];
  const entries = [...branch].map(([name, inner]) => [name, plain(inner)] as const);
  if (names.length === 0 || names.some((name) => !/^\d+$/.test(name))) {
    return Object.fromEntries(entries);
  }
  return entries.sort(([one], [other]) => Number(one) - Number(other)).map(([, inner]) => inner);
}

/** JSON as a tree of parameters: every scalar is a text. Pure. */
export function treeOfJson(value: unknown): ParamTree {
  if (Array.isArray(value)) return value.map(treeOfJson);
  if (typeof value === "object" && value !== null) {
    const given = Object.entries(value).filter(([, inner]) => inner !== null);
    return Object.fromEntries(given.map(([name, inner]) => [name, treeOfJson(inner)]));
  }
  return String(value);
}

/** The parameters of a tree with paths for names, lists counted from 1: the other way of `treeOf`. Pure. */
export function flatOf(tree: ParamTree, path = ""): Record<string, string> {
  if (typeof tree === "string") return { [path]: tree };
  const entries = Array.isArray(tree)
    ? tree.map((inner: ParamTree, index) => [String(index + 1), inner] as const)
    : Object.entries(tree as Readonly<Record<string, ParamTree>>);
  const below = entries.map(([name, inner]) =>
    flatOf(inner, path === "" ? name : `${path}.${name}`),
  );
  return Object.assign({}, ...below) as Record<string, string>;
}
