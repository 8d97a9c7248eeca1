/** T as it is written down: every field may be undefined but those that each T has. */
type Written<T> = {
  [K in keyof T]: IsAlwaysThere<T, K> extends true ? Exclude<T[K], undefined> : T[K] | undefined;
};

/** Of an index signature no key is. */
type IsAlwaysThere<T, K extends keyof T> = string extends K
  ? false
  : T extends Record<K, unknown>
    ? true
    : false;

/**
 * The fields without those that are undefined, in their order. Which fields there may be is told by where
 * the answer goes, not by what is written: so the compiler finds a field that is not expected, as it does
 * not in what is spread. Pure.
 */
export function omitUndefined<T>(fields: NoInfer<Written<NonNullable<T>>>): NonNullable<T> {
  const written: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    // Users name keys, too. Assigned, this one would be no field.
    if (key === "__proto__") Object.defineProperty(written, key, { ...asWritten, value });
    else written[key] = value;
  }
  return written as NonNullable<T>;
}

const asWritten = { configurable: true, enumerable: true, writable: true };
