import type { CallContext, Identity, Observed, UserData } from "../provider/port.js";

/** Makes what a host is given at its first start, with its secrets. */
export interface HostBootstrapper {
  userDataFor(ctx: CallContext, who: Identity): Promise<UserData>;
  /**
   * Before a resource goes: what is kept for a host elsewhere, and its place among the members of its control plane.
   * Success also when there is nothing.
   */
  release(ctx: CallContext, resource: Observed): Promise<void>;
  /** After it has gone: its Node. What fails here is nobody's failure. */
  forget(ctx: CallContext, resource: Pick<Observed, "who" | "status">): Promise<void>;
}
