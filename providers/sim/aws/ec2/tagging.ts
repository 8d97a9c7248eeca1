// Tags: those of a create call, and those that are set later.

import { ApiError, invalidValue } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { WireObject } from "../protocol/xml.js";
import type { Handler, Scope } from "../model/scope.js";
import type { Tags } from "../model/tables.js";
import {
  type Ec2Table,
  ec2Tables,
  mustGet,
  notFound,
  resourceTypeOf,
  tableOfId,
  withTags,
} from "./kinds.js";
import { describeRows } from "./listing.js";

const mostTags = 50;

/** Tags as the wire has them. Pure. */
export function tagSet(tags: Tags): WireObject[] {
  return Object.entries(tags).map(([key, value]) => ({ key, value }));
}

/**
 * The tags that a create call gives, by the types of what it creates. Throws InvalidParameterValue for other types, and asks
 * whether the caller may tag, as EC2 does.
 */
export function tagsOnCreate(
  scope: Scope,
  params: Params,
  tables: readonly Ec2Table[],
): Record<string, Tags> {
  const types = tables.map(resourceTypeOf);
  const given: Record<string, Tags> = {};
  for (const specification of params.objects("TagSpecification")) {
    const type = specification.required("ResourceType");
    if (!types.includes(type)) {
      throw invalidValue(`'${type}' is not a valid taggable resource type for this operation.`);
    }
    if (given[type] !== undefined) {
      throw invalidValue(`Tag specification resource type ${type} is given more than once`);
    }
    given[type] = tagsOf(specification.objects("Tag"));
    if (Object.keys(given[type]).length === 0) {
      throw new ApiError("InvalidTagKey.Malformed", "Tag specification must have at least one tag");
    }
    scope.who.authorize("ec2:CreateTags", `arn:aws:ec2:${scope.region}:${scope.account}:${type}/*`);
  }
  return given;
}

/** The same where one thing is created. */
export function tagsOfNew(scope: Scope, params: Params, table: Ec2Table): Tags {
  return tagsOnCreate(scope, params, [table])[resourceTypeOf(table)] ?? {};
}

function tagsOf(list: readonly Params[]): Tags {
  const tags: Record<string, string> = {};
  for (const tag of list) {
    const key = tag.required("Key");
    if (tags[key] !== undefined) throw invalidValue(`Duplicate tag key '${key}' specified.`);
    tags[key] = checkedTag(key, tag.text("Value") ?? "");
  }
  return limited(tags);
}

function checkedTag(key: string, value: string): string {
  if (key.toLowerCase().startsWith("aws:")) {
    throw invalidValue(`Tag keys starting with 'aws:' are reserved for internal use`);
  }
  if (key.length > 127) throw invalidValue("Tag key exceeds the maximum length of 127 characters");
  if (value.length > 255)
    throw invalidValue("Tag value exceeds the maximum length of 255 characters");
  return value;
}

function limited(tags: Tags): Tags {
  if (Object.keys(tags).length <= mostTags) return tags;
  throw new ApiError(
    "TagLimitExceeded",
    `The maximum number of tags for a resource is ${mostTags}`,
  );
}

const createTags: Handler = (scope, params) => {
  const wanted = tagsOf(params.objects("Tag"));
  for (const { table, id, tags } of taggedOf(scope, params)) {
    withTags(scope, table, id, limited({ ...tags, ...wanted }));
  }
  return { return: true };
};

const deleteTags: Handler = (scope, params) => {
  const unwanted = params
    .objects("Tag")
    .map((tag) => [tag.required("Key"), tag.text("Value")] as const);
  for (const { table, id, tags } of taggedOf(scope, params)) {
    const kept = Object.entries(tags).filter(
      ([key, value]) => !unwanted.some(([k, v]) => k === key && (v === undefined || v === value)),
    );
    withTags(scope, table, id, unwanted.length === 0 ? {} : Object.fromEntries(kept));
  }
  return { return: true };
};

function taggedOf(scope: Scope, params: Params) {
  const ids = params.texts("ResourceId");
  if (ids.length === 0)
    throw new ApiError("MissingParameter", "The request must contain the parameter resourceIdSet");
  return ids.map((id) => {
    const table = tableOfId(id);
    if (table === undefined) throw new ApiError("InvalidID", `The ID '${id}' is not valid`);
    if (scope.db.get(table, id) === undefined) throw notFound(table, id);
    return { table, id, tags: mustGet(scope, table, id).tags };
  });
}

const describeTags: Handler = (scope, params) => {
  const rows = ec2Tables.flatMap((table) =>
    scope.db.all(table).flatMap(({ id, tags }) =>
      Object.entries(tags).map(([key, value]) => ({
        id,
        tags: {},
        resourceId: id,
        resourceType: resourceTypeOf(table),
        key,
        value,
      })),
    ),
  );
  return describeRows(scope, params, rows, {
    set: "tagSet",
    filters: {
      key: ({ key }) => [key],
      value: ({ value }) => [value],
      "resource-id": ({ resourceId }) => [resourceId],
      "resource-type": ({ resourceType }) => [resourceType],
    },
    wire: ({ resourceId, resourceType, key, value }) => ({ resourceId, resourceType, key, value }),
  });
};

export const tagLooks = { DescribeTags: describeTags };
export const tagChanges = { CreateTags: createTags, DeleteTags: deleteTags };
