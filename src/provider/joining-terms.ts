import type { JsonObject } from "../api/json.js";
import type { InfrastructureProvider, RuntimeTerms, UserDataTerms } from "./port.js";

/** What hosts of a cluster take that begin it and join it; undefined where they take nothing, or run nothing. Pure. */
export function joiningTerms(
  { userData }: Pick<InfrastructureProvider, "userData">,
  clusterSpec: JsonObject,
): UserDataTerms | undefined {
  const { simulated } = userData ?? {};
  const runsNothing = typeof simulated === "function" ? simulated(clusterSpec) : simulated === true;
  return runsNothing ? undefined : userData;
}

/** The container runtime of a cluster's hosts whose Machine names none. */
export function runtimeTerms(
  { containerRuntime }: Pick<UserDataTerms, "containerRuntime">,
  clusterSpec: JsonObject,
): RuntimeTerms {
  return typeof containerRuntime === "function" ? containerRuntime(clusterSpec) : containerRuntime;
}
