import type { Result } from "./attempt.js";
import { boundaryText } from "./boundary.js";
import type { Recording } from "./jobs.js";
import { verdictCounts, verdictProblems } from "./verdict.js";

/** Whether nothing is wrong after it, and it was where it was aimed. */
export function hasPassed({ hit, verdict }: Result): boolean {
  return hit && verdictProblems(verdict).length === 0;
}

/** "create | after create network #1 | tree | same | to target | orphans 0, ... | 4.2 s | passed" */
export function resultLine(result: Result): string {
  const { aim, recovery, second, reached, verdict, seconds } = result;
  const again = second === undefined ? "" : `, killed ${boundaryText(second)}`;
  const fields = [
    aim.operation.name,
    boundaryText(aim.boundary),
    aim.disturbance,
    `${recovery}${again}`,
    `to ${reached}`,
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
 * The recorded boundaries that were aimed at and not hit: then the disturbed runs were others than
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

/** A result without what cannot be written. */
export function resultDocument(result: Result) {
  const { aim, recovery, second, reached, verdict, hit, seconds } = result;
  return {
    operation: aim.operation.name,
    boundary: boundaryText(aim.boundary),
    disturbance: aim.disturbance,
    recovery,
    ...(second !== undefined && { second: boundaryText(second) }),
    ...{ reached, hit, seconds, passed: hasPassed(result), verdict },
  };
}
