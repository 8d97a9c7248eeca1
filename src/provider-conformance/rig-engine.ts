import { packedUserData, userDataOf } from "../bootstrap/host/user-data.js";
import type { Clock, InfrastructureProvider, UserData } from "../provider/port.js";
import type { RecordedResource } from "../records/prior-state.js";
import { revisionKey } from "../transaction/pass.js";

// Parts of the engine in memory: user data, the record of a commit, a clock that ends with the case.

/** What hosts of the sample are given: it does nothing. */
export function emptyUserData({ userData }: InfrastructureProvider): UserData {
  const format = userData?.format ?? "cloud-config";
  const text = userDataOf({ files: [], script: "/bin/true" }, format);
  return { format, text, packed: packedUserData(text) };
}

/** What a commit leaves: without it a plan would want to write it. */
export const revisionRecord: RecordedResource = {
  urn: revisionKey,
  key: revisionKey,
  kind: "Revision",
  name: "revision",
  type: "resource",
  inputs: {},
  secretInputs: [],
  outputs: {},
  dependsOn: [],
  unfinished: false,
  deleting: false,
};

/** The clock, for as long as the case may run: whoever polls without a signal stops too. */
export function stoppable(clock: Clock, over: AbortSignal): Clock {
  return {
    now: () => clock.now(),
    sleep: async (ms, signal) => {
      await clock.sleep(ms, signal ?? over);
      over.throwIfAborted();
    },
  };
}
