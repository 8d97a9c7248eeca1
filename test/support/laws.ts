import fc from "fast-check";

/**
 * Checks a law on random inputs. On failure fast-check prints its seed and the shrunk input;
 * CAPSTAN_SEED repeats a run.
 */
export function assertLaw<T>(property: fc.IProperty<T>, numRuns = 100): void {
  const text = process.env["CAPSTAN_SEED"];
  const seed = text === undefined || text === "" ? {} : { seed: Number(text) | 0 };
  fc.assert(property, { numRuns, ...seed });
}
