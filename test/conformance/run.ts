import { messageOf } from "../../src/api/error.js";
import { withTiesByName } from "./deletion.js";
import type { Json } from "../../src/api/json.js";
import { asSets, deviating } from "./deviations.js";
import { firstDifference } from "./difference.js";
import { installerOperations } from "./installer/operations.js";
import { deviationsOf, operationOf, operations } from "./operations.js";
import { type ReadCase, readVectorFile, type VectorCase } from "./vector-file.js";

export interface ConformanceResult {
  /** One line per failing case: file, case, what was wanted and what came. */
  readonly failures: readonly string[];
  readonly passed: number;
  /** What the product does otherwise than cases want, on purpose, and how many of those that passed that is about. */
  readonly deviations: readonly { readonly reason: string; readonly cases: number }[];
}

/** What came of a case: a problem, or the reasons why not all of it is wanted of the product. */
export type CaseOutcome =
  | { readonly kind: "failed"; readonly problem: string }
  | { readonly kind: "passed"; readonly deviations: readonly string[] };

/** Asks every case of every file. What cannot be asked has failed. */
export async function conform(files: readonly string[]): Promise<ConformanceResult> {
  const failures: string[] = [];
  const deviations = new Map<string, number>();
  let passed = 0;
  for (const file of files) {
    for (const read of readVectorFile(file)) {
      const outcome = await outcomeOf(read);
      if (outcome.kind === "failed") {
        failures.push(`${file} ${idOf(read)}: ${outcome.problem}`.replaceAll(/\s+/g, " "));
        continue;
      }
      passed += 1;
      for (const reason of outcome.deviations) {
        deviations.set(reason, (deviations.get(reason) ?? 0) + 1);
      }
    }
  }
  const counted = [...deviations].map(([reason, cases]) => ({ reason, cases }));
  return { failures, passed, deviations: counted };
}

function idOf(read: ReadCase): string {
  return read.kind === "case" ? read.asked.id : read.id;
}

async function outcomeOf(read: ReadCase): Promise<CaseOutcome> {
  if (read.kind === "malformed") return failed(read.problem);
  return caseOutcome(read.asked);
}

/** What came of a case. A refusal to answer is wrong. */
export async function caseOutcome({ given, want, profile }: VectorCase): Promise<CaseOutcome> {
  const name = operationOf(given);
  if (name === undefined) return failed("names no operation, and its fields tell of none");
  const operation = Object.hasOwn(operations, name) ? operations[name] : undefined;
  if (operation === undefined) return failed(`operation ${name} is not covered yet`);
  try {
    const listed = Object.hasOwn(deviationsOf, name) ? (deviationsOf[name] ?? []) : [];
    const ours = deviating(want, given, listed);
    const came = await operation(given as never, profile, want as never);
    const wanted = withTiesByName(ours.want);
    // What the installer left, and where, has no order.
    const problem = Object.hasOwn(installerOperations, name)
      ? firstDifference(asSets(wanted), asSets(came as Json))
      : firstDifference(wanted, came);
    return problem === undefined ? { kind: "passed", deviations: ours.reasons } : failed(problem);
  } catch (error) {
    return failed(`wanted ${JSON.stringify(want).slice(0, 200)}, failed: ${messageOf(error)}`);
  }
}

function failed(problem: string): CaseOutcome {
  return { kind: "failed", problem };
}
