import { type Annotations, ownAnnotationPrefix } from "./update-policy.js";

/** On a Cluster: what becomes of what controllers in it have made, when the cluster is destroyed. */
export const leftoversAnnotation = `${ownAnnotationPrefix}leftovers`;
export const leftoverChoices = ["report", "remove"] as const;

/** On a Cluster: the same of what holds data of its users. */
export const leftoverDataAnnotation = `${ownAnnotationPrefix}leftover-data`;
export const leftoverDataChoices = ["keep", "remove"] as const;

/**
 * What a destroy does with what controllers in a cluster have made in its cloud. Data is a choice of its own: whoever
 * wants load balancers gone has not said that volumes may go.
 */
export interface LeftoverPolicy {
  /** `report`: it is named and stays. */
  readonly leftovers: (typeof leftoverChoices)[number];
  readonly data: (typeof leftoverDataChoices)[number];
}

/** Nothing is removed that nobody has asked for. */
export const reportLeftovers: LeftoverPolicy = { leftovers: "report", data: "keep" };

/** What the annotations of a Cluster ask for; what they do not say, or say otherwise, is neither removed nor lost. Pure. */
export function leftoverPolicyOf(annotations: Annotations): LeftoverPolicy {
  const leftovers = leftoverChoices.find((one) => one === annotations?.[leftoversAnnotation]);
  const data = leftoverDataChoices.find((one) => one === annotations?.[leftoverDataAnnotation]);
  return {
    leftovers: leftovers ?? reportLeftovers.leftovers,
    data: data ?? reportLeftovers.data,
  };
}
