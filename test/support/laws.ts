import fc from "fast-check";

/**
 * Checks a law on random inputs. On failure fast-check prints its seed and the shrunk input;
 * CAPSTAN_SEED repeats a run.
 */
export function assertLaw<T>(property: fc.IProperty<T>, numRuns = 100): void {
  fc.assert(property, { numRuns, ...givenSeed() });
}

/** The same for what takes its time. */
export function assertAsyncLaw<T>(property: fc.IAsyncProperty<T>, numRuns = 100): Promise<void> {
  return fc.assert(property, { numRuns, ...givenSeed() });
}

function givenSeed(): { readonly seed?: number } {
  const text = process.env["CAPSTAN_SEED"];
  return text === undefined || text === "" ? {} : { seed: Number(text) | 0 };
}
