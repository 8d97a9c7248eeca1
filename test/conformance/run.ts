import { messageOf } from "../../src/api/error.js";
import { withTiesByName } from "./deletion.js";
import { firstDifference } from "./difference.js";
import { operationOf, operations } from "./operations.js";
import { type ReadCase, readVectorFile, type VectorCase } from "./vector-file.js";

export interface ConformanceResult {
  /** One line per failing case: file, case, what was wanted and what came. */
  readonly failures: readonly string[];
  readonly passed: number;
}

/** Asks every case of every file. What cannot be asked has failed. */
export function conform(files: readonly string[]): ConformanceResult {
  const outcomes = files.flatMap((file) =>
    readVectorFile(file).map((read) => ({ file, id: idOf(read), problem: problemOf(read) })),
  );
  const failures = outcomes
    .filter(({ problem }) => problem !== undefined)
    .map(({ file, id, problem }) => `${file} ${id}: ${problem}`.replaceAll(/\s+/g, " "));
  return { failures, passed: outcomes.length - failures.length };
}

function idOf(read: ReadCase): string {
  return read.kind === "case" ? read.asked.id : read.id;
}

function problemOf(read: ReadCase): string | undefined {
  return read.kind === "malformed" ? read.problem : caseProblem(read.asked);
}

/** What is wrong with the product's answer to a case, or undefined. A refusal to answer is wrong. */
export function caseProblem({ given, want, profile }: VectorCase): string | undefined {
  const name = operationOf(given);
  if (name === undefined) return "names no operation, and its fields tell of none";
  const operation = Object.hasOwn(operations, name) ? operations[name] : undefined;
  if (operation === undefined) return `operation ${name} is not covered yet`;
  try {
    const came = operation(given as never, profile, want as never);
    return firstDifference(withTiesByName(want), came);
  } catch (error) {
    return `wanted ${JSON.stringify(want).slice(0, 200)}, failed: ${messageOf(error)}`;
  }
}
