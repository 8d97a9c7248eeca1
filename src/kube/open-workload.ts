import type { OpenWorkload } from "../engine/run/workload-cluster.js";

/** Loads the client of an API server only for who asks one for a token. */
export const openWorkload: OpenWorkload = async (access) => {
  const { WorkloadApi } = await import("./workload-api.js");
  return new WorkloadApi(access);
};
