import { isJsonObject, type JsonObject } from "../api/json.js";
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

/** On import Pulumi knows an id only; the cloud's own marks then say who it is. */
export function recordedWho(properties: Properties): Identity {
  const nobody: Identity = { cluster: "", clusterUid: "", kind: "", name: "", token: "" };
  return isJsonObject(properties["who"]) ? whoOf(properties) : nobody;
}
