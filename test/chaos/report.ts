import type { Result } from "./attempt.js";
import { boundaryText } from "./boundary.js";
import { placeText } from "./place.js";
import type { Recording } from "./jobs.js";
import { verdictCounts, verdictProblems } from "./verdict.js";

/** Whether nothing is wrong after it, and it was where it was aimed. */
export function hasPassed({ hit, verdict }: Result): boolean {
  return hit && verdictProblems(verdict).length === 0;
}

/** "create | after create network #1 | tree | same | to target | orphans 0, ... | 4.2 s | passed" */
export function resultLine(result: Result): string {
  const { aim, recovery, second, place, verdict, seconds } = result;
  const again = second === undefined ? "" : `, killed ${boundaryText(second)}`;
  const fields = [
    aim.operation.name,
    boundaryText(aim.boundary),
    aim.fault,
    `${recovery}${again}`,
    `to ${placeText(place)}`,
    verdictCounts(verdict),
    `${seconds.toFixed(1)} s`,
    hasPassed(result) ? "passed" : "FAILED",
  ];
  return fields.join(" | ");
}

/** What is wrong, indented, one thing a line; nothing when it passed. */
export function problemText({ verdict }: Pick<Result, "verdict">): string {
  return verdictProblems(verdict)
    .map((problem) => `  ${problem.trim().replaceAll("\n", "\n    ")}\n`)
    .join("");
}

/**
 * The recorded boundaries that were aimed at and not hit: then the runs with a fault were others than
 * the recorded one.
 */
export function missedBoundaries(results: readonly Result[]): string[] {
  const textOf = ({ aim }: Result) => `${aim.operation.name}: ${boundaryText(aim.boundary)}`;
  const hit = new Set(results.filter((result) => result.hit).map(textOf));
  return [...new Set(results.map(textOf))].filter((text) => !hit.has(text));
}

/** "boundaries: create 42 recorded, 42 hit": what was covered. */
export function coverageLine({ operation, boundaries }: Recording, results: readonly Result[]) {
  const hit = new Set(
    results
      .filter((result) => result.hit && result.aim.operation === operation)
      .map(({ aim }) => boundaryText(aim.boundary)),
  );
  return `boundaries: ${operation.name} ${boundaries.length} recorded, ${hit.size} hit`;
}

/** What is wrong with an operation that nobody disturbed. */
export function unfitText({ operation, problems }: Recording): string {
  return `${operation.name} | undisturbed | FAILED\n  ${problems.join("\n").trim().replaceAll("\n", "\n    ")}`;
}

/** "cell: destroy, then rollback: 3 tries, 2 failed: stuck 1, laws 2", for each that has failed. */
export function cellLines(results: readonly Result[]): string[] {
  const cells = groupBy(results, ({ aim, recovery }) => `${aim.operation.name}, then ${recovery}`);
  return [...cells].sort().flatMap(([cell, tries]) => {
    const failed = tries.filter((result) => !hasPassed(result));
    if (failed.length === 0) return [];
    const kinds = groupBy(failed.flatMap(kindsOf), (kind) => kind);
    const how = [...kinds].map(([kind, all]) => `${kind} ${all.length}`).join(", ");
    return [`cell: ${cell}: ${tries.length} tries, ${failed.length} failed: ${how}`];
  });
}

function groupBy<T>(all: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}

/** Which parts of a verdict are not empty. */
function kindsOf({ verdict }: Result): string[] {
  return Object.entries(verdict)
    .filter(([, all]) => (all as readonly string[]).length > 0)
    .map(([kind]) => kind);
}

/** A result without what cannot be written. */
export function resultDocument(result: Result) {
  const { aim, recovery, second, place, verdict, hit, seconds } = result;
  return {
    operation: aim.operation.name,
    boundary: boundaryText(aim.boundary),
    disturbance: aim.fault,
    recovery,
    ...(second !== undefined && { second: boundaryText(second) }),
    reached: placeText(place),
    hit,
    seconds,
    passed: hasPassed(result),
    verdict,
  };
}
