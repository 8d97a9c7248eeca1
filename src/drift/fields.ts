import { type Json, plainText, sameJson } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { secretText, shownUnlessSecret } from "../api/secret-fields.js";
import type { ObservedResource } from "../plan/observation.js";
import { type RecordedResource, recordedSpec } from "../records/prior-state.js";

/** A field whose value in the cloud is not what is recorded. A side that lacks it leaves it out. */
export interface DriftedField {
  readonly path: string;
  readonly recorded?: Json;
  readonly seen?: Json;
}

/** Field by field, in the record's order; of a secret field only that it drifted. Pure. */
export function driftedFields(
  record: RecordedResource,
  observed: ObservedResource | undefined,
): DriftedField[] {
  if (observed === undefined || observed === "gone") return [];
  const recorded = recordedSpec(record);
  const seen = observed.spec;
  const secret = record.secret?.inputs;
  if (secret === undefined && record.secretInputs.includes("spec")) {
    if (sameJson(recorded, seen)) return [];
    return [{ path: "spec", recorded: secretText, seen: secretText }];
  }
  return [...new Set([...Object.keys(recorded), ...Object.keys(seen)])]
    .filter((path) => !sameJson(recorded[path], seen[path]))
    .map((path) => {
      const isSecret = secret?.includes(path) === true;
      return omitUndefined({
        path,
        recorded: shownUnlessSecret(recorded[path], isSecret),
        seen: shownUnlessSecret(seen[path], isSecret),
      });
    });
}

/** "size small -> large, tags {} -> {"a":"b"}": recorded, then seen. Pure. */
export function driftText(drift: readonly DriftedField[]): string {
  return drift
    .map(({ path, recorded, seen }) => `${path} ${plainText(recorded)} -> ${plainText(seen)}`)
    .join(", ");
}
