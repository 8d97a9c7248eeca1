import type { Json } from "../api/json.js";
import { unknownValue } from "../api/unknown.js";
import type { Ref } from "../graph/graph.js";
import { cloudResources, type PriorState, recordedStatus } from "./prior-state.js";

/** What a Ref stands for, as far as it is recorded; the unknown value otherwise. Pure. */
export function recordedOutputs(state: PriorState): (ref: Ref) => Json {
  const records = new Map(cloudResources(state).map((record) => [record.key, record]));
  return ({ $ref, output }) => {
    const record = records.get($ref);
    if (record === undefined) return unknownValue;
    return (output === "id" ? record.id : recordedStatus(record)[output]) ?? unknownValue;
  };
}
