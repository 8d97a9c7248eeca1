import type { Command } from "../scenario/command.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { type Operation, startDestroy, startRollback, startUp } from "./operation.js";
import { type Target, writeTarget } from "./targets.js";
import { judgeReached, stuckWith, type Verdict, verdictProblems } from "./verdict.js";

export const recoveries = ["same", "old", "third", "rollback"] as const;
/** What the next command asks for: the same target, the one before, another one, or to go back. */
export type Recovery = (typeof recoveries)[number];

/** Where a recovery ended, and what is wrong there. */
export interface Recovered {
  readonly reached: "target" | "previous" | "third" | "nothing" | "neither";
  readonly verdict: Verdict;
}

const commandDeadlineMs = 90_000;

/** Waits for a command's end; one that takes too long is killed and answers undefined. */
export async function exitCodeOf(command: Command): Promise<number | null | undefined> {
  try {
    await until("the command ends", () => command.hasEnded, commandDeadlineMs);
  } catch {
    await command.killTree();
    return undefined;
  }
  return (await command.finished).code;
}

export function startRecovery(
  sandbox: Sandbox,
  stack: string,
  operation: Operation,
  recovery: Recovery,
): Command {
  const { previous, third } = operation;
  switch (recovery) {
    case "same":
      return operation.start(sandbox);
    case "old":
      return previous === undefined ? startDestroy(sandbox, stack) : startUp(sandbox, previous);
    case "third":
      return startUp(sandbox, third);
    case "rollback":
      return startRollback(sandbox, stack);
  }
}

/** Runs the command that comes after a crash, and judges what is there then. */
export async function recover(
  sandbox: Sandbox,
  stack: string,
  operation: Operation,
  recovery: Recovery,
): Promise<Recovered> {
  const committed = recovery === "rollback" && (await hasCommitted(sandbox, stack, operation));
  const command = startRecovery(sandbox, stack, operation, recovery);
  const code = await exitCodeOf(command);
  if (code !== 0) {
    const how = code === undefined ? "does not end" : `exits with ${code}`;
    return { reached: "neither", verdict: stuckWith(`${recovery} ${how}: ${command.said}`) };
  }
  return judgeRecovered(sandbox, stack, destinations(operation, recovery, committed));
}

interface Destination {
  readonly reached: Recovered["reached"];
  readonly target: Target;
}

/** Where a recovery may end. What is committed may stay so when it is asked to go back. */
function destinations(
  operation: Operation,
  recovery: Recovery,
  committed: boolean,
): readonly [Destination, ...Destination[]] {
  const named = (reached: Recovered["reached"], target: Target): Destination => ({
    reached: target === undefined ? "nothing" : reached,
    target,
  });
  const target = named("target", operation.target);
  const previous = named("previous", operation.previous);
  switch (recovery) {
    case "same":
      return [target];
    case "old":
      return [previous];
    case "third":
      return [named("third", operation.third)];
    case "rollback":
      return committed ? [previous, target] : [previous];
  }
}

/** The first destination that is there in every respect; else what is wrong with the first. */
async function judgeRecovered(
  sandbox: Sandbox,
  stack: string,
  possible: readonly [Destination, ...Destination[]],
): Promise<Recovered> {
  const verdicts: Verdict[] = [];
  for (const { reached, target } of possible) {
    const verdict = await judgeReached(sandbox, stack, target);
    verdicts.push(verdict);
    if (verdictProblems(verdict).length > 0) continue;
    return { reached, verdict: await judgePlan(sandbox, target, verdict) };
  }
  return { reached: "neither", verdict: verdicts[0] ?? stuckWith() };
}

/** Law 1: what was reached has nothing left to plan. */
async function judgePlan(sandbox: Sandbox, target: Target, verdict: Verdict): Promise<Verdict> {
  if (target === undefined) return verdict;
  writeTarget(sandbox.manifests, target);
  const command = sandbox.start("plan", "-f", sandbox.manifests);
  const code = await exitCodeOf(command);
  if (code === 0) return verdict;
  return { ...verdict, stuck: [`plan of what was reached exits with ${code}: ${command.said}`] };
}

/** Whether the revision of the operation was recorded before it was disturbed. */
async function hasCommitted(
  sandbox: Sandbox,
  stack: string,
  { baseline }: Operation,
): Promise<boolean> {
  const { resources = [] } = await sandbox.deploymentIfAny(stack);
  const revision = resources.find(({ type }) => type.endsWith(":Revision"));
  const before = { nothing: 0, first: 1, updated: 2 }[baseline];
  return Number(revision?.inputs?.["number"] ?? 0) > before;
}
