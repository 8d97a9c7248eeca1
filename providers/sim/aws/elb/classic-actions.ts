// The actions of Elastic Load Balancing in its API of 2012, which has the classic load balancers.

import { actionsOf } from "../model/scope.js";
import { classicBalancerChanges, classicBalancerLooks } from "./classic-load-balancers.js";
import { classicTagChanges, classicTagLooks } from "./classic-tags.js";

export const classicActions = actionsOf(
  { ...classicBalancerLooks, ...classicTagLooks },
  { ...classicBalancerChanges, ...classicTagChanges },
);
