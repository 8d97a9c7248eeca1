import { isJsonObject, type JsonObject } from "../api/json.js";
import type { Accepted } from "../provider/operations.js";
import type { Identity } from "../provider/port.js";
import type { Properties } from "./protocol.js";

// What a resource's inputs and outputs in Pulumi's records say of it.

/** What a resource is to be, or is recorded to be. */
export interface Asked {
  readonly who: Identity;
  readonly spec: JsonObject;
}

export function specOf(properties: Properties): JsonObject {
  const spec = properties["spec"];
  return isJsonObject(spec) ? spec : {};
}

export function statusOf(properties: Properties): JsonObject {
  const status = properties["status"];
  return isJsonObject(status) ? status : {};
}

export function whoOf(properties: Properties): Identity {
  return properties["who"] as Identity;
}

/** The handle of what the cloud has accepted; undefined of a resource that was there at once. */
export function operationOf({ operation }: Properties): string | undefined {
  return typeof operation === "string" ? operation : undefined;
}

/** What the cloud has accepted, as the record of it tells; undefined of a resource that was there at once. */
export function acceptedIn(id: string, who: Identity, recorded: Properties): Accepted | undefined {
  const operation = operationOf(recorded);
  if (operation === undefined) return undefined;
  return { id, who, spec: specOf(recorded), status: statusOf(recorded), operation };
}

/** On import Pulumi knows an id only; the cloud's own marks then say who it is. */
export function recordedWho(properties: Properties): Identity {
  const nobody: Identity = { cluster: "", clusterUid: "", kind: "", name: "", token: "" };
  return isJsonObject(properties["who"]) ? whoOf(properties) : nobody;
}
