import { ownAnnotationPrefix } from "./update-policy.js";

/**
 * Whose arithmetic sets and rollouts follow where Cluster API's own history differs: the release
 * that shipped this API, or today's. Source: docs/cluster-api.md; docs/adr/0013.
 */
export type Profile = "v1alpha1" | "modern";

export const profiles: readonly Profile[] = ["v1alpha1", "modern"];

/** What the objects of this API mean unless somebody asks for the other. */
export const defaultProfile: Profile = "v1alpha1";

/** Asks for a profile, on a MachineSet or MachineDeployment. */
export const profileAnnotation = `${ownAnnotationPrefix}profile`;

/** What an object asks for; validation has seen to it that it is one. Pure. */
export function profileOf({ metadata }: { readonly metadata: Annotated }): Profile {
  const asked = metadata.annotations?.[profileAnnotation];
  return isProfile(asked) ? asked : defaultProfile;
}

interface Annotated {
  readonly annotations?: Readonly<Record<string, string>>;
}

export function isProfile(value: unknown): value is Profile {
  return profiles.some((profile) => profile === value);
}
