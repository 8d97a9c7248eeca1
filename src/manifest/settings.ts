import { counted } from "../api/counted.js";
import { isJsonObject } from "../api/json.js";
import type { MemberPath } from "../api/diagnostic-codes.js";
import { isNameOf } from "../api/kind-names.js";
import { describe, valueAt } from "./object-parts.js";
import { type Setting, settingPathText } from "./override-forms.js";
import { typedScalar } from "./variables.js";

const quoted = /^"(.*)"$/s;

/** Why a setting cannot be made. */
export interface Unsettable {
  readonly summary: string;
  readonly hint: string;
}

/** An object that a setting is for, or why there is none. */
type Found<T> =
  { readonly kind: "one"; readonly found: T } | ({ readonly kind: "none" } & Unsettable);

/** The one that a setting is for. Pure. */
export function objectFor<T extends { readonly object: unknown }>(
  setting: Setting,
  all: readonly T[],
): Found<T> {
  const { target, path } = setting;
  const fitting = all.filter(({ object }) =>
    target === undefined ? memberAt(object, path) !== undefined : isMeant(object, target),
  );
  const [found, ...others] = fitting;
  if (found === undefined) return { kind: "none", ...noneOf(setting, all.map(objectIn)) };
  if (others.length === 0) return { kind: "one", found };
  return { kind: "none", ...severalOf(setting, fitting.map(objectIn)) };
}

function objectIn({ object }: { readonly object: unknown }): unknown {
  return object;
}

function noneOf({ target, path }: Setting, objects: readonly unknown[]) {
  const here = objects.length === 0 ? "none" : objects.map(nameIn).join(", ");
  const hint = `objects here: ${here}`;
  if (target === undefined) {
    return {
      summary: `no object of these manifests has ${settingPathText(path)}`,
      hint: `name one before it, as KIND/NAME:; ${hint}`,
    };
  }
  const { kind, namespace, name } = target;
  const wanted = [kind, namespace, name].filter((part) => part !== undefined).join("/");
  return { summary: `there is no ${wanted} in these manifests`, hint };
}

function severalOf({ target, path }: Setting, objects: readonly unknown[]) {
  const which = `${objects.length} objects`;
  return target === undefined
    ? {
        summary: `${which} have ${settingPathText(path)}`,
        hint: `name one before it, as KIND/NAME:; it is in ${objects.map(nameIn).join(", ")}`,
      }
    : {
        summary: `${which} are meant: ${objects.map(describe).join(", ")}`,
        hint: "name the namespace, too: KIND/NAMESPACE/NAME",
      };
}

function nameIn(value: unknown): string {
  const [kind = "", path = ""] = describe(value).split(" ");
  return `${kind}/${path.split("/").at(-1) ?? ""}`;
}

function isMeant(
  value: unknown,
  { kind, namespace, name }: NonNullable<Setting["target"]>,
): boolean {
  const own = valueAt(value, ["kind"]);
  const ownNamespace = valueAt(value, ["metadata", "namespace"]) ?? "default";
  return (
    typeof own === "string" &&
    isNameOf(own, kind) &&
    valueAt(value, ["metadata", "name"]) === name &&
    (namespace === undefined || namespace === ownNamespace)
  );
}

/** A setting as it was made: `covers` leads to the topmost member that it has set or added. */
export interface MadeSetting {
  readonly kind: "made";
  readonly setting: Setting;
  readonly covers: MemberPath;
}

/** Sets the value in an object, with what is missing above it. Changes the object, unless it cannot. */
export function applySetting(
  object: unknown,
  setting: Setting,
): MadeSetting | ({ readonly kind: "none" } & Unsettable) {
  const { path, given } = setting;
  const value = quoted.exec(given)?.[1] ?? typedScalar(given);
  let parent = object;
  let added: number | undefined;
  for (const [index, part] of path.entries()) {
    const wrong = unfit(parent, path, index);
    if (wrong !== undefined) return { kind: "none", ...wrong };
    const members = parent as Record<string | number, unknown>;
    if (members[part] === undefined) added ??= index;
    if (index === path.length - 1) members[part] = value;
    else members[part] ??= typeof path[index + 1] === "number" ? [] : {};
    parent = members[part];
  }
  return { kind: "made", setting, covers: path.slice(0, (added ?? path.length) + 1) };
}

/** How to set what one setting cannot give: a list, or an object. Pure. */
export function partsHint(setting: Setting, path: MemberPath, wanted: "list" | "object"): string {
  const further = setting.path.slice(path.length);
  const part = wanted === "list" ? [0, ...further] : ["FIELD"];
  const parts = wanted === "list" ? "items" : "fields";
  return `set its ${parts}, one --set for each: ${settingPathText([...path, ...part])}=VALUE`;
}

/** Why nothing can be set at an index of the path in this parent. */
function unfit(parent: unknown, path: MemberPath, index: number): Unsettable | undefined {
  const part = path[index] ?? "";
  const where = settingPathText(path.slice(0, index));
  if (typeof part === "number" ? !Array.isArray(parent) : !isJsonObject(parent)) {
    const summary = `${where} is no ${typeof part === "number" ? "list" : "object"}`;
    const hint = Array.isArray(parent)
      ? `it is a list: name one of its items, as ${where}[0].${part}`
      : "capstan explain shows the fields of a kind";
    return { summary, hint };
  }
  if (!Array.isArray(parent) || Number(part) <= parent.length) return undefined;
  const summary = `${where} has ${counted(parent.length, "item")}, so none comes at ${part}`;
  return { summary, hint: `[${parent.length}] adds one` };
}

/** What stands at a path through objects and lists; undefined for nothing. Pure. */
export function memberAt(value: unknown, path: MemberPath): unknown {
  return path.reduce<unknown>((current, part) => {
    if (Array.isArray(current)) return (current as unknown[])[Number(part)];
    return isJsonObject(current) && Object.hasOwn(current, part) ? current[part] : undefined;
  }, value);
}
