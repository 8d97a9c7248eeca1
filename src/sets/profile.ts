/**
 * Whose arithmetic sets and rollouts follow where Cluster API's own history differs: the release
 * that shipped this API, or today's. Source: reference/cluster-api.md 2.4, 2.5; docs/adr/0013.
 */
export type Profile = "v1alpha1" | "modern";

/** What the objects of this API mean unless somebody asks for the other. */
export const defaultProfile: Profile = "v1alpha1";

export function isProfile(value: unknown): value is Profile {
  return value === "v1alpha1" || value === "modern";
}
