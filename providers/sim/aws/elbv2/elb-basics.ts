// What all calls of ELB share: ARNs, pages, attributes and errors.

import { ApiError } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { WireObject } from "../protocol/xml.js";
import type { Scope } from "../model/scope.js";
import type { Tags } from "../model/tables.js";

/** The ARN of something of ELB; `path` is what it has after the account, e.g. "targetgroup/api/0123456789abcdef". */
export function elbArn({ region, account }: Scope, path: string): string {
  return `arn:aws:elasticloadbalancing:${region}:${account}:${path}`;
}

export function validationError(message: string): ApiError {
  return new ApiError("ValidationError", message);
}

/** Throws ValidationError for a name that ELB does not take. */
export function checkElbName(name: string, what: string): void {
  const isFine = /^[a-zA-Z0-9]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?$/.test(name);
  if (isFine && !name.startsWith("internal-")) return;
  throw validationError(
    `The ${what} name '${name}' must have at most 32 characters, only letters, digits and hyphens, and must not begin or end with a hyphen`,
  );
}

/** Those that a call names by their ARNs or names; all of them where it names none. Throws `missing()` for what is not there. */
export function namedRows<R extends { readonly id: string; readonly name: string }>(
  rows: readonly R[],
  [arns, names]: readonly [arns: readonly string[], names: readonly string[]],
  missing: () => ApiError,
): readonly R[] {
  if (arns.length === 0 && names.length === 0) return rows;
  const named = rows.filter(({ id, name }) => arns.includes(id) || names.includes(name));
  const known = new Set(named.flatMap(({ id, name }) => [id, name]));
  if ([...arns, ...names].some((one) => !known.has(one))) throw missing();
  return named;
}

/** The part of a list that a call asks for with PageSize and Marker. */
export function elbPage<R>(
  items: readonly R[],
  params: Params,
): { readonly items: readonly R[]; readonly nextMarker: string | undefined } {
  const size = params.number("PageSize") ?? 400;
  const marker = params.text("Marker");
  if (size < 1 || size > 400) throw validationError(`Page size '${size}' must be from 1 to 400`);
  const from = marker === undefined || marker === "" ? 0 : Number(marker);
  if (!Number.isInteger(from)) throw validationError(`Marker '${marker ?? ""}' is not valid`);
  const to = from + size;
  const nextMarker = to < items.length ? String(to) : undefined;
  return { items: items.slice(from, to), nextMarker };
}

export function tagList(tags: Tags): WireObject[] {
  return Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
}

/** The tags of a call. Throws DuplicateTagKeys. */
export function tagsGiven(params: Params): Tags {
  const tags: Record<string, string> = {};
  for (const tag of params.objects("Tags")) {
    const key = tag.required("Key");
    if (tags[key] !== undefined) {
      throw new ApiError("DuplicateTagKeys", `A tag key was specified more than once: '${key}'`);
    }
    tags[key] = tag.text("Value") ?? "";
  }
  return tags;
}

/** Attributes after those of a call. Throws for keys that there are not. */
export function changedAttributes(before: Tags, params: Params, what: string): Tags {
  const changes = params.objects("Attributes").map((one) => {
    const key = one.required("Key");
    if (before[key] === undefined) {
      throw validationError(`${what} attribute key '${key}' is not recognized`);
    }
    return [key, one.text("Value") ?? ""] as const;
  });
  return { ...before, ...Object.fromEntries(changes) };
}
