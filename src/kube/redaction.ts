import { boundedRedaction } from "../api/bounded-text.js";

/** Takes secrets out of a text that others may read. */
export type Redact = (text: string) => string;

declare const redacted: unique symbol;
/** What has been through `redactedCopy`: the only statuses that can be written. */
export type Redacted<T> = T & { readonly [redacted]: true };

/** A copy with every text in it bounded and redacted, at every depth. Names of members stay. Pure but for `redact`. */
export function redactedCopy<T extends object>(value: T, redact: Redact): Redacted<T> {
  return copied(value, boundedRedaction(redact)) as Redacted<T>;
}

function copied(value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map((item) => copied(item, redact));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, copied(member, redact)]);
  return Object.fromEntries(members) as object;
}
