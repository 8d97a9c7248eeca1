import type { LocalResource } from "../file/resource.js";

/** What runs on a host, from its start to its end. */
export interface HostRunner {
  /** Brings it one step on, or finds everything as it shall be. Where it throws, it is asked again. */
  step(host: LocalResource): Promise<void>;
  /** Ends everything at once. */
  end(): Promise<void>;
}
