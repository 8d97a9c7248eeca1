// Parameters of Systems Manager.

import { omitUndefined } from "../../../../src/api/omit-undefined.js";
import { actionsOf, type Handler, type Scope } from "../model/scope.js";
import type { ParameterRow } from "../model/tables.js";
import { ApiError } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { WireObject } from "../protocol/xml.js";
import { jsonTagList, jsonTags, jsonTime, validationException } from "./json-tags.js";

/** Bytes that a parameter of each tier holds. */
const mostBytes: Readonly<Record<string, number>> = { Standard: 4096, Advanced: 8192 };

const putParameter: Handler = (scope, params) => {
  params.ignore("KeyId", "DataType");
  const name = checkedName(params.required("Name"));
  const value = params.required("Value");
  const isOverwrite = params.flag("Overwrite") ?? false;
  const before = scope.db.get("parameters", name);
  if (before !== undefined && !isOverwrite) {
    throw new ApiError(
      "ParameterAlreadyExists",
      "The parameter already exists. To overwrite this value, set the overwrite option in the request to true.",
    );
  }
  const tags = jsonTags(params);
  if (isOverwrite && Object.keys(tags).length > 0) {
    throw validationException(
      "Invalid request: tags and overwrite can't be used together. To create a parameter with tags, please remove overwrite flag.",
    );
  }
  const tier = tierOf(params, value);
  const row = omitUndefined<ParameterRow>({
    id: name,
    tags: before?.tags ?? tags,
    type: params.text("Type") ?? before?.type ?? "String",
    value,
    version: (before?.version ?? 0) + 1,
    modifiedAtMs: scope.nowMs,
    tier,
    description: params.text("Description") ?? before?.description,
  });
  scope.db.put("parameters", row);
  return { Version: row.version, Tier: tier };
};

function checkedName(name: string): string {
  if (/^\/?[a-zA-Z0-9_.-]+(\/[a-zA-Z0-9_.-]+)*$/.test(name) && !/^\/?(aws|ssm)/i.test(name))
    return name;
  throw validationException(
    `Parameter name: can't be prefixed with "aws" or "ssm" (case-insensitive), and has only letters, digits, and the symbols .-_ between slashes: ${name}`,
  );
}

function tierOf(params: Params, value: string): string {
  const asked = params.text("Tier") ?? "Standard";
  const bytes = Buffer.byteLength(value);
  const tier = asked === "Intelligent-Tiering" ? (bytes > 4096 ? "Advanced" : "Standard") : asked;
  const most = mostBytes[tier];
  if (most === undefined) throw validationException(`Tier ${asked} is none`);
  if (bytes <= most) return tier;
  throw validationException(
    `${tier} tier parameters support a maximum parameter value of ${most} characters. To create a larger parameter value, upgrade the parameter to use the advanced-parameter tier.`,
  );
}

const getParameter: Handler = (scope, params) => {
  const isClear = params.flag("WithDecryption") ?? false;
  return { Parameter: wireOf(mustHave(scope, params.required("Name")), scope, isClear) };
};

const getParameters: Handler = (scope, params) => {
  const isClear = params.flag("WithDecryption") ?? false;
  const names = params.texts("Names");
  const rows = names.flatMap((name) => scope.db.get("parameters", name) ?? []);
  const known = new Set(rows.map(({ id }) => id));
  return {
    Parameters: rows.map((row) => wireOf(row, scope, isClear)),
    InvalidParameters: names.filter((name) => !known.has(name)),
  };
};

const getParametersByPath: Handler = (scope, params) => {
  const isClear = params.flag("WithDecryption") ?? false;
  const isDeep = params.flag("Recursive") ?? false;
  const path = params.required("Path").replace(/(?<!\/)\/*$/, "/");
  const rows = scope.db
    .all("parameters")
    .filter(({ id }) => id.startsWith(path) && (isDeep || !id.slice(path.length).includes("/")));
  const { items, nextToken } = jsonPage(rows, params, 10);
  return { Parameters: items.map((row) => wireOf(row, scope, isClear)), NextToken: nextToken };
};

const describeParameters: Handler = (scope, params) => {
  const filters = params.objects("ParameterFilters").map((filter) => ({
    key: filter.required("Key"),
    how: filter.text("Option") ?? "Equals",
    values: filter.texts("Values"),
  }));
  const rows = scope.db
    .all("parameters")
    .filter((row) => filters.every((filter) => passes(row, filter)));
  const { items, nextToken } = jsonPage(rows, params, 50);
  return { Parameters: items.map((row) => metadataOf(row, scope)), NextToken: nextToken };
};

interface ParameterFilter {
  readonly key: string;
  readonly how: string;
  readonly values: readonly string[];
}

function passes({ id, tags }: ParameterRow, { key, how, values }: ParameterFilter): boolean {
  if (key.startsWith("tag:")) {
    const value = tags[key.slice("tag:".length)];
    return value !== undefined && (values.length === 0 || values.includes(value));
  }
  if (key !== "Name") throw validationException(`The simulator has no parameter filter ${key}`);
  return values.some((value) => (how === "BeginsWith" ? id.startsWith(value) : id === value));
}

const deleteParameter: Handler = (scope, params) => {
  scope.db.remove("parameters", mustHave(scope, params.required("Name")).id);
  return {};
};

const addTagsToResource: Handler = (scope, params) => {
  params.ignore("ResourceType");
  const row = mustHaveResource(scope, params);
  scope.db.put("parameters", { ...row, tags: { ...row.tags, ...jsonTags(params) } });
  return {};
};

const listTagsForResource: Handler = (scope, params) => {
  params.ignore("ResourceType");
  return { TagList: jsonTagList(mustHaveResource(scope, params).tags) };
};

function mustHaveResource({ db }: Scope, params: Params): ParameterRow {
  const id = params.required("ResourceId");
  const row = db.get("parameters", id);
  if (row !== undefined) return row;
  throw new ApiError("InvalidResourceId", `The resource ID "${id}" is not valid.`);
}

function mustHave({ db }: Scope, name: string): ParameterRow {
  const row = db.get("parameters", name);
  if (row !== undefined) return row;
  throw new ApiError("ParameterNotFound", `Parameter ${name} not found.`);
}

/** What is secret is shown as something else, unless it is asked for in clear. */
function wireOf(row: ParameterRow, scope: Scope, isClear: boolean): WireObject {
  const isHidden = row.type === "SecureString" && !isClear;
  const Value = isHidden ? Buffer.from(`kms:${row.value.length}`).toString("base64") : row.value;
  return {
    Name: row.id,
    Type: row.type,
    Value,
    Version: row.version,
    LastModifiedDate: jsonTime(row.modifiedAtMs),
    ARN: arnOf(row, scope),
    DataType: "text",
  };
}

function metadataOf(row: ParameterRow, scope: Scope): WireObject {
  return {
    Name: row.id,
    ARN: arnOf(row, scope),
    Type: row.type,
    LastModifiedDate: jsonTime(row.modifiedAtMs),
    Description: row.description,
    Version: row.version,
    Tier: row.tier,
    DataType: "text",
  };
}

function arnOf({ id }: ParameterRow, { region, account }: Scope): string {
  return `arn:aws:ssm:${region}:${account}:parameter${id.startsWith("/") ? "" : "/"}${id}`;
}

/** The part of a list that a call asks for with MaxResults and NextToken, an offset. */
function jsonPage<R>(rows: readonly R[], params: Params, standard: number) {
  const size = params.number("MaxResults") ?? standard;
  const from = Number(params.text("NextToken") ?? 0);
  const to = from + size;
  return { items: rows.slice(from, to), nextToken: to < rows.length ? String(to) : undefined };
}

export const ssmActions = actionsOf(
  {
    GetParameter: getParameter,
    GetParameters: getParameters,
    GetParametersByPath: getParametersByPath,
    DescribeParameters: describeParameters,
    ListTagsForResource: listTagsForResource,
  },
  {
    PutParameter: putParameter,
    DeleteParameter: deleteParameter,
    AddTagsToResource: addTagsToResource,
  },
);
