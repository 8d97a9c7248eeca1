import { isJsonObject, type Json, type JsonObject } from "../../api/json.js";

/** Of which lease, and in which of its terms, somebody works: an earlier term has ended when a later one begins. */
export interface LeaseTerm {
  /** The uid of the Lease: one that is deleted and made again counts its terms anew. */
  readonly lease: string;
  /** How often it had gone from one holder to another when the term began. */
  readonly transition: number;
}

/** Whether JSON tells a term. */
export function isLeaseTerm(value: Json | undefined): value is JsonObject & LeaseTerm {
  return (
    isJsonObject(value) &&
    typeof value["lease"] === "string" &&
    typeof value["transition"] === "number"
  );
}

/**
 * Whether a term is over for whoever leads now: its holder has lost the lease, and its engines were ended before that, by a
 * watchdog if need be (docs/operations.md#who-leads). Of people without a lease, and of another one, no lease tells anything. Pure.
 */
export function isOver(earlier: LeaseTerm | undefined, now: LeaseTerm | undefined): boolean {
  if (earlier === undefined || now === undefined) return false;
  return earlier.lease === now.lease && earlier.transition < now.transition;
}
