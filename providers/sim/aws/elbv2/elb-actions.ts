// The actions of Elastic Load Balancing v2, and what happens in it by itself.

import { actionsOf } from "../model/scope.js";
import { elbTagChanges, elbTagLooks } from "./elb-tags.js";
import { listenerChanges, listenerLooks } from "./listeners.js";
import { loadBalancerChanges, loadBalancerLooks, loadBalancerTimers } from "./load-balancers.js";
import { targetGroupChanges, targetGroupLooks } from "./target-groups.js";
import { targetChanges, targetLooks, targetTimers } from "./targets.js";

export const elbActions = actionsOf(
  { ...loadBalancerLooks, ...targetGroupLooks, ...listenerLooks, ...targetLooks, ...elbTagLooks },
  {
    ...loadBalancerChanges,
    ...targetGroupChanges,
    ...listenerChanges,
    ...targetChanges,
    ...elbTagChanges,
  },
);

export const elbTimers = { ...loadBalancerTimers, ...targetTimers };
