import type { FetchObstacle, MachineToCompile, SecretStore } from "../../../src/provider/port.js";
import type { AwsCluster } from "../specs/cluster-spec.js";
import { fetchCommandFor } from "./secret-fetch.js";

/** What of a store in Secrets Manager needs no call. Pure. */
export const secretTerms: Required<Pick<SecretStore, "fetchCommand" | "isUsedBy" | "obstacleOf">> =
  {
    fetchCommand: fetchCommandFor,
    isUsedBy: (clusterSpec) => (clusterSpec as unknown as AwsCluster).hostSecrets !== "userData",
    obstacleOf: obstacleFor,
  };

function obstacleFor({ providerSpec }: MachineToCompile): FetchObstacle | undefined {
  if (providerSpec["instanceProfile"] !== undefined) return undefined;
  return {
    reason:
      "its instance has no instanceProfile by which it could fetch its keys and its token from Secrets Manager; hostSecrets: userData of the Cluster puts them into the user data, in clear",
    member: ["providerSpec", "value"],
  };
}
