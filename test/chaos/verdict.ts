import { judge, type Judgement } from "../scenario/ledger-judge.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { judgeWanted } from "../scenario/wanted-judge.js";
import { type Target, wantedMachines } from "./targets.js";

/** What is wrong after a recovery. All empty: nothing is. */
export interface Verdict extends Judgement {
  /** Other than the target that should be there wants it. */
  readonly unwanted: readonly string[];
  /** A command that did not end, or not as it should. */
  readonly stuck: readonly string[];
}

/** Holds cloud, state and a target against each other. */
export async function judgeReached(
  sandbox: Sandbox,
  stack: string,
  reached: Target,
): Promise<Verdict> {
  const rows = sandbox.rows();
  const judgement = judge(rows, await sandbox.deploymentIfAny(stack));
  if (reached !== undefined) {
    const unwanted = judgeWanted(rows, wantedMachines(reached));
    return { ...judgement, unwanted, stuck: [] };
  }
  const left = sandbox.alive().map(({ name, id }) => `${name} (${id}) lives, nothing should`);
  return { ...judgement, unwanted: left, stuck: [] };
}

export function stuckWith(...stuck: string[]): Verdict {
  const nothing = { duplicates: [], orphans: [], missing: [], wrongContent: [], pending: [] };
  return { ...nothing, unwanted: [], stuck };
}

/** "orphans 0, duplicates 0, wrong 0, stuck 0": missing and unfinished count with the nearest of them. */
export function verdictCounts(verdict: Verdict): string {
  const { orphans, duplicates, missing, wrongContent, unwanted, pending, stuck } = verdict;
  const wrong = missing.length + wrongContent.length + unwanted.length;
  const hanging = pending.length + stuck.length;
  return `orphans ${orphans.length}, duplicates ${duplicates.length}, wrong ${wrong}, stuck ${hanging}`;
}

export function verdictProblems(verdict: Verdict): string[] {
  return Object.entries(verdict).flatMap(([what, all]) =>
    (all as readonly string[]).map((one) => `${what}: ${one}`),
  );
}
