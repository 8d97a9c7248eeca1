import type { InfrastructureProvider, UserDataTerms } from "./port.js";

/** What hosts take that begin a cluster and join it; undefined where they take nothing, or run nothing. Pure. */
export function joiningTerms({
  userData,
}: Pick<InfrastructureProvider, "userData">): UserDataTerms | undefined {
  return userData?.simulated === true ? undefined : userData;
}
