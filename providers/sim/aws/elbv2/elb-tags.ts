// Tags of load balancers, target groups and listeners.

import type { Handler, Scope } from "../model/scope.js";
import type { Tags } from "../model/tables.js";
import { ApiError } from "../protocol/api-error.js";
import { tagList, tagsGiven } from "./elb-basics.js";

/** By what their ARNs hold. */
const kinds = [
  {
    part: ":loadbalancer/",
    table: "loadBalancers",
    code: "LoadBalancerNotFound",
    many: "load balancers",
  },
  {
    part: ":targetgroup/",
    table: "targetGroups",
    code: "TargetGroupNotFound",
    many: "target groups",
  },
  { part: ":listener/", table: "listeners", code: "ListenerNotFound", many: "listeners" },
] as const;

const addTags: Handler = (scope, params) => {
  const arns = params.texts("ResourceArns");
  const tags = tagsGiven(params);
  for (const arn of arns) change(scope, arn, (before) => ({ ...before, ...tags }));
  return {};
};

const removeTags: Handler = (scope, params) => {
  const arns = params.texts("ResourceArns");
  const keys = params.texts("TagKeys");
  for (const arn of arns) {
    change(scope, arn, (before) =>
      Object.fromEntries(Object.entries(before).filter(([key]) => !keys.includes(key))),
    );
  }
  return {};
};

function change(scope: Scope, arn: string, changed: (before: Tags) => Tags): void {
  const { table, tags } = tagged(scope, arn);
  const row = scope.db.get(table, arn);
  if (row !== undefined) scope.db.put(table, { ...row, tags: changed(tags) });
}

const describeTags: Handler = (scope, params) => ({
  TagDescriptions: params
    .texts("ResourceArns")
    .map((arn) => ({ ResourceArn: arn, Tags: tagList(tagged(scope, arn).tags) })),
});

function tagged({ db }: Scope, arn: string) {
  const kind = kinds.find(({ part }) => arn.includes(part));
  if (kind === undefined)
    throw new ApiError("ValidationError", `'${arn}' is not a valid load balancer ARN`);
  const row = db.get(kind.table, arn);
  if (row === undefined) throw new ApiError(kind.code, `One or more ${kind.many} not found`);
  return { table: kind.table, tags: row.tags };
}

export const elbTagLooks = { DescribeTags: describeTags };
export const elbTagChanges = { AddTags: addTags, RemoveTags: removeTags };
