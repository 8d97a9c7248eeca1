import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const reproducers = join(root, ".setup", "reproducers");

/**
 * Checks a law on random inputs. On failure fast-check prints its seed and the shrunk input;
 * CAPSTAN_SEED repeats a run, CAPSTAN_RUNS_TIMES=<n> draws n times as many inputs; `npm test` as a whole draws a third.
 */
export function assertLaw<T>(property: fc.IProperty<T>, numRuns = 100): void {
  fc.assert(property, { numRuns: runsOf(numRuns), ...givenSeed() });
}

/** The same for what takes its time. */
export function assertAsyncLaw<T>(property: fc.IAsyncProperty<T>, numRuns = 100): Promise<void> {
  return fc.assert(property, { numRuns: runsOf(numRuns), ...givenSeed() });
}

/** The same inputs every time: of seeds that a law was once broken by. */
export function assertLawOfSeeds<T>(
  property: fc.IProperty<T>,
  seeds: readonly number[],
  numRuns: number,
): void {
  for (const seed of seeds) fc.assert(property, { numRuns, seed });
}

/** What a reproducer file holds. */
interface Reproducer<T> {
  readonly law: string;
  readonly seed: number;
  readonly error: string;
  readonly history: T;
}

export interface HistoryLaw<T> {
  /** Names the reproducer file as well. */
  readonly law: string;
  /** Where the law is checked, for whoever replays a history. */
  readonly file: string;
  readonly histories: fc.Arbitrary<T>;
  readonly numRuns: number;
  /** Throws when the history breaks the law; `trace` is told what happens in it. */
  check(history: T, trace: (line: string) => void): Promise<void>;
}

/**
 * Checks a law on random histories. One that breaks it is shrunk and written to .setup/reproducers;
 * CAPSTAN_REPRODUCE=<file> runs that one alone, and tells what happens in it; CAPSTAN_RUNS_TIMES=<n>
 * runs n times as many.
 */
export async function assertHistoryLaw<T>(about: HistoryLaw<T>): Promise<void> {
  const { law, histories, numRuns } = about;
  const file = process.env["CAPSTAN_REPRODUCE"];
  if (file !== undefined && file !== "") {
    const reproducer = JSON.parse(readFileSync(file, "utf8")) as Reproducer<T>;
    if (reproducer.law === law) {
      await about.check(reproducer.history, (line) => process.stdout.write(`${line}\n`));
    }
    return;
  }
  const property = fc.asyncProperty(histories, (history) => about.check(history, () => {}));
  const { failed, seed, counterexample, errorInstance } = await fc.check(property, {
    numRuns: runsOf(numRuns),
    ...givenSeed(),
  });
  if (!failed) return;
  const error = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  const [history] = counterexample ?? [];
  const path = writeReproducer({ law, seed, error, history });
  const command = `CAPSTAN_REPRODUCE=${path} npm test -- ${about.file}`;
  throw new Error(`${law} is broken: ${error}\nseed ${seed}; replay: ${command}`);
}

function writeReproducer(reproducer: Reproducer<unknown>): string {
  mkdirSync(reproducers, { recursive: true });
  const name = `${reproducer.law.replace(/[^a-z0-9]+/gi, "-")}-${reproducer.seed}.json`;
  const path = join(reproducers, name);
  writeFileSync(path, `${JSON.stringify(reproducer, null, 2)}\n`);
  return path;
}

/** How long a law may take that usually takes so long: CAPSTAN_RUNS_TIMES may ask for more runs. A share of them gets no less time. */
export function timesAsMany(usually: number): number {
  return usually * Math.max(1, runsTimes());
}

/** How often a law has to have met what it speaks of, where it meets that at least so often with all of its inputs. */
export function timesSeen(usually: number): number {
  return Math.floor(usually * runsTimes());
}

function runsOf(usually: number): number {
  return Math.ceil(usually * runsTimes());
}

function runsTimes(): number {
  return Number(process.env["CAPSTAN_RUNS_TIMES"] ?? 1);
}

function givenSeed(): { readonly seed?: number } {
  const text = process.env["CAPSTAN_SEED"];
  return text === undefined || text === "" ? {} : { seed: Number(text) | 0 };
}
