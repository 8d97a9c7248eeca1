import type { Json, JsonObject } from "../api/json.js";
import { unknownValue } from "../api/unknown.js";
import type { Ref } from "../graph/graph.js";
import { cloudResources, type PriorState } from "./prior-state.js";

/** What a Ref stands for, as far as it is recorded; the unknown value otherwise. Pure. */
export function recordedOutputs(state: PriorState): (ref: Ref) => Json {
  const records = new Map(cloudResources(state).map((record) => [record.key, record]));
  return ({ $ref, output }) => {
    const record = records.get($ref);
    const status = (record?.outputs["status"] ?? {}) as JsonObject;
    return (output === "id" ? record?.id : status[output]) ?? unknownValue;
  };
}
