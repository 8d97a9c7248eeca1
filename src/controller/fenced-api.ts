import type { KubeApi } from "../kube/api.js";

/** What a source of clusters asks of an API server. */
type SourceApi = Pick<KubeApi, "read" | "readSecret" | "write" | "writeSecret">;

/**
 * The same API server, to which is written only while `assertLeader` does not throw: a process that was stopped in the middle of what it shows,
 * and goes on, must not show what was true before another one led.
 */
export function fencedApi(api: SourceApi, assertLeader: () => void): SourceApi {
  return {
    read: (named) => api.read(named),
    readSecret: (at) => api.readSecret(at),
    write: async (write) => {
      assertLeader();
      return api.write(write);
    },
    writeSecret: async (write) => {
      assertLeader();
      return api.writeSecret(write);
    },
  };
}
