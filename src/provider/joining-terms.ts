import type { JsonObject } from "../api/json.js";
import type { InfrastructureProvider, UserDataTerms } from "./port.js";

/** What hosts of a cluster take that begin it and join it; undefined where they take nothing, or run nothing. Pure. */
export function joiningTerms(
  { userData }: Pick<InfrastructureProvider, "userData">,
  clusterSpec: JsonObject,
): UserDataTerms | undefined {
  const { simulated } = userData ?? {};
  const runsNothing = typeof simulated === "function" ? simulated(clusterSpec) : simulated === true;
  return runsNothing ? undefined : userData;
}
