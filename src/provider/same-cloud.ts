import { CapstanError } from "../api/error.js";
import { isJsonObject, type Json } from "../api/json.js";
import type { CallContext, CloudIdentity, InfrastructureProvider } from "./port.js";

/** A provider, as far as it tells which cloud it talks to. */
export type Identifying = Pick<InfrastructureProvider, "name" | "identity">;

/** Which cloud answers; undefined where the provider cannot tell. Throws what the provider throws. */
export async function cloudOf(
  provider: Pick<InfrastructureProvider, "identity">,
  context: CallContext,
): Promise<CloudIdentity | undefined> {
  return provider.identity?.(context);
}

/**
 * Law 12, unseen is not gone: throws WRONG_CLOUD when another cloud answers than the one that is recorded,
 * or one that no longer tells. What is recorded has to be answered; a newer release may tell more. Pure.
 */
export function refuseWrongCloud(
  subject: string,
  recorded: CloudIdentity | undefined,
  answered: CloudIdentity | undefined,
): void {
  if (recorded === undefined || isSameCloud(recorded, answered)) return;
  const fields = Object.keys(recorded)
    .filter((field) => answered?.[field] !== recorded[field])
    .map(
      (field) =>
        `${field} ${recorded[field] ?? ""} is recorded, and ${answered?.[field] ?? "none"} answered`,
    );
  throw new CapstanError({
    code: "WRONG_CLOUD",
    source: "user",
    subject,
    message: `cannot look for ${subject} in this cloud: ${fields.join("; ")}`,
    hint: `use the credentials and settings of ${cloudText(recorded)}; nothing was changed`,
  });
}

/** Whether everything that is recorded of a cloud is answered. Pure. */
export function isSameCloud(recorded: CloudIdentity, answered: CloudIdentity | undefined): boolean {
  return Object.entries(recorded).every(([field, value]) => answered?.[field] === value);
}

/** "account 1234, region eu-1". Pure. */
export function cloudText(cloud: CloudIdentity): string {
  return Object.entries(cloud)
    .map(([field, value]) => `${field} ${value}`)
    .join(", ");
}

/** An identity as it was recorded; undefined for what is none, such as a record of an older release. Pure. */
export function recordedCloud(value: Json | undefined): CloudIdentity | undefined {
  if (!isJsonObject(value)) return undefined;
  const fields = Object.entries(value);
  const isFlat = fields.every(([, text]) => typeof text === "string");
  return isFlat && fields.length > 0 ? (value as CloudIdentity) : undefined;
}
