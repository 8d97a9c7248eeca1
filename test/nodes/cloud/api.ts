import type { JsonObject } from "../../../src/api/json.js";
import type { Identity, Observed } from "../../../src/provider/port.js";

/** What a host is made from. */
export interface HostOrder {
  /** Whoever orders it again under its id gets the same host. */
  readonly id: string;
  readonly who: Identity;
  readonly spec: JsonObject;
  /** A secret. */
  readonly userData: string;
}

/** What the cloud does for whoever reaches it. */
export interface CloudApi {
  /** Null for an id that no host ever had. */
  get(id: string): Promise<Observed | null>;
  /** All hosts that there ever were. */
  list(): Promise<readonly Observed[]>;
  /** Answers at once; then the host boots. */
  create(order: HostOrder): Promise<Observed>;
  /** Answers when the host is gone, with all that it had. */
  remove(id: string): Promise<void>;
  /** What the host has printed last. */
  console(id: string): Promise<string>;
}
