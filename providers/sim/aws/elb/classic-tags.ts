// Tags of classic load balancers.

import type { Handler } from "../model/scope.js";
import type { Tags } from "../model/tables.js";
import { tagList, tagsGiven, validationError } from "../elbv2/elb-basics.js";
import { mustHaveClassic } from "./classic-load-balancers.js";

/** One call tells the tags of no more. */
const mostTold = 20;

/** A call that changes the tags of those that it names: all of them or, where one is not there, none. */
function changing(changed: (before: Tags, named: Tags) => Tags): Handler {
  return (scope, params) => {
    const named = tagsGiven(params);
    for (const name of params.texts("LoadBalancerNames")) {
      const row = mustHaveClassic(scope, name);
      scope.db.put("classicLoadBalancers", { ...row, tags: changed(row.tags, named) });
    }
    return {};
  };
}

const addTags = changing((before, named) => ({ ...before, ...named }));

const removeTags = changing((before, named) =>
  Object.fromEntries(Object.entries(before).filter(([key]) => named[key] === undefined)),
);

const describeTags: Handler = (scope, params) => {
  const names = params.texts("LoadBalancerNames");
  if (names.length < 1 || names.length > mostTold) {
    throw validationError(`From 1 to ${mostTold} load balancers must be named`);
  }
  return {
    TagDescriptions: names.map((LoadBalancerName) => {
      return { LoadBalancerName, Tags: tagList(mustHaveClassic(scope, LoadBalancerName).tags) };
    }),
  };
};

export const classicTagLooks = { DescribeTags: describeTags };
export const classicTagChanges = { AddTags: addTags, RemoveTags: removeTags };
