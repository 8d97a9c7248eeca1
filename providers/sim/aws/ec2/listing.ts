// What all Describe calls share: ids, filters and pages.

import { matchesPattern } from "../../core/patterns.js";
import { ApiError, invalidValue } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { Wire, WireObject } from "../protocol/xml.js";
import type { Handler, Scope } from "../model/scope.js";
import type { RegionTables, Tags } from "../model/tables.js";
import { type Ec2Table, notFound } from "./kinds.js";

/** Values of a thing that a filter of EC2 looks at. */
export type Filters<R> = Readonly<
  Record<string, (row: R, scope: Scope) => readonly (string | undefined)[]>
>;

/** How things are shown. */
interface View<R> {
  /** Name of the list in the answer, e.g. "vpcSet". */
  readonly set: string;
  /** Besides those of tags, which everything has. */
  readonly filters: Filters<R>;
  readonly wire: (row: R, scope: Scope) => Wire;
}

/** How the things of a table are shown, and asked for by their ids. */
interface TableView<K extends Ec2Table> extends View<RegionTables[K]> {
  readonly table: K;
  /** The parameter with ids, e.g. "VpcId". */
  readonly ids: string;
}

/** The handler of a Describe call. */
export function describer<K extends Ec2Table>(view: TableView<K>): Handler {
  return (scope, params) => {
    const ids = params.texts(view.ids);
    return describeRows(scope, params, rowsOf(scope, view.table, ids), view);
  };
}

/** The rows with these ids, or all of them. Throws for ids that nothing has. */
export function rowsOf<K extends Ec2Table>(
  scope: Scope,
  table: K,
  ids: readonly string[],
): readonly RegionTables[K][] {
  if (ids.length === 0) return scope.db.all(table);
  const found = ids.map((id) => ({ id, row: scope.db.get(table, id) }));
  const missing = found.flatMap(({ id, row }) => (row === undefined ? [id] : []));
  if (missing.length > 0) throw notFound(table, ...missing);
  return found.flatMap(({ row }) => row ?? []);
}

/** A page of those rows that pass the filters of the call. */
export function describeRows<R extends { readonly id: string; readonly tags: Tags }>(
  scope: Scope,
  params: Params,
  rows: readonly R[],
  view: View<R>,
): WireObject {
  const page = pageOf(filtered(scope, params, rows, view.filters), params);
  return { [view.set]: page.items.map((row) => view.wire(row, scope)), nextToken: page.nextToken };
}

/** Rows that every filter lets pass: one of its values fits one of the row's. Throws for filters that there are not. */
export function filtered<R extends { readonly tags: Tags }>(
  scope: Scope,
  params: Params,
  rows: readonly R[],
  filters: Filters<R>,
): readonly R[] {
  const wanted = params.objects("Filter").map((filter) => {
    const name = filter.required("Name");
    const values = filter.texts("Value");
    if (values.length === 0) throw invalidValue(`The filter '${name}' has no values`);
    return { valuesOf: valuesOf(name, filters), values };
  });
  if (wanted.flatMap(({ values }) => values).length > mostFilterValues) {
    throw new ApiError(
      "FilterLimitExceeded",
      `The maximum number of filter values specified on a single call is ${mostFilterValues}`,
    );
  }
  return rows.filter((row) =>
    wanted.every(({ valuesOf, values }) =>
      valuesOf(row, scope).some(
        (value) => value !== undefined && values.some((pattern) => matchesPattern(pattern, value)),
      ),
    ),
  );
}

function valuesOf<R extends { readonly tags: Tags }>(
  name: string,
  filters: Filters<R>,
): Filters<R>[string] {
  if (name.startsWith("tag:")) {
    const key = name.slice("tag:".length);
    return ({ tags }) => [tags[key]];
  }
  if (name === "tag-key") return ({ tags }) => Object.keys(tags);
  if (name === "tag-value") return ({ tags }) => Object.values(tags);
  const known = filters[name];
  if (known === undefined) throw invalidValue(`The filter '${name}' is invalid`);
  return known;
}

const mostResults = 1000;
const mostFilterValues = 200;

/** The part of a list that a call asks for with MaxResults and NextToken. */
export function pageOf<R>(
  items: readonly R[],
  params: Params,
): { readonly items: readonly R[]; readonly nextToken: string | undefined } {
  const size = params.number("MaxResults");
  if (size !== undefined && (size < 5 || size > mostResults)) {
    throw invalidValue(
      `Value ( ${size} ) for parameter maxResults is invalid. Expecting a value between 5 and ${mostResults}.`,
    );
  }
  const from = startOf(params.text("NextToken"));
  const to = from + (size ?? mostResults);
  const nextToken = to < items.length ? tokenOf(to) : undefined;
  return { items: items.slice(from, to), nextToken };
}

const tokenMark = "page-";

function tokenOf(from: number): string {
  return Buffer.from(`${tokenMark}${from}`).toString("base64url");
}

function startOf(token: string | undefined): number {
  if (token === undefined || token === "") return 0;
  const text = Buffer.from(token, "base64url").toString("utf8");
  if (text.startsWith(tokenMark)) return Number(text.slice(tokenMark.length));
  throw new ApiError("InvalidNextToken", "The token is invalid.");
}
