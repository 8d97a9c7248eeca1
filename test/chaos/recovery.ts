import type { Command } from "../scenario/command.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { type Operation, startDestroy, startRollback, startUp } from "./operation.js";
import { machineSpecOf, type Target, writeTarget } from "./targets.js";
import { judgeReached, stuckWith, type Verdict, verdictProblems } from "./verdict.js";

export const recoveries = ["same", "old", "third", "rollback"] as const;
/** What the next command asks for: the same target, the one before, another one, or to go back. */
export type Recovery = (typeof recoveries)[number];

/** Where a run or a recovery ended, and what is wrong there. */
export interface Recovered {
  readonly reached: "target" | "previous" | "third" | "nothing" | "neither";
  /** What is wanted there. */
  readonly target: Target;
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

/** What comes after a crash. */
export interface Comeback {
  readonly operation: Operation;
  readonly recovery: Recovery;
  /** The recovery itself was killed once before. */
  readonly isSecond: boolean;
}

/** Runs the command that comes after a crash, and judges what is there then. */
export async function recover(
  sandbox: Sandbox,
  stack: string,
  { operation, recovery, isSecond }: Comeback,
): Promise<Recovered> {
  const leadsBack = recovery === "old" || recovery === "rollback";
  if (leadsBack && isBeyond(sandbox, operation)) {
    return goForward(sandbox, stack, { operation, recovery, isSecond });
  }
  const progress = recovery === "rollback" ? await progressOf(sandbox, stack, operation) : "begun";
  const command = startRecovery(sandbox, stack, operation, recovery);
  const code = await exitCodeOf(command);
  // Where nothing was begun, or all was taken back already, there may be nothing to take back.
  const isTakenBack = isSecond || operation.undisturbed.code !== 0;
  const mayRefuse = progress === "untouched" || isTakenBack;
  const isRefused = progress !== "begun" && mayRefuse && code === 1;
  if (code !== 0 && !isRefused) {
    const verdict = stuckWith(`${recovery} ${endText(code)}: ${command.said}`);
    return { reached: "neither", target: undefined, verdict };
  }
  let first: Recovered | undefined;
  for (const { reached, target } of destinations(operation, recovery, progress)) {
    const there = await judgeAt(sandbox, stack, reached, target);
    if (there.reached !== "neither") return there;
    first ??= there;
  }
  return first ?? { reached: "neither", target: undefined, verdict: stuckWith() };
}

const refusedCode = 65;

/** Whether an operation has brought a control plane to another minor version, as the cloud shows it. */
function isBeyond(sandbox: Sandbox, operation: Operation): boolean {
  if (operation.crosses !== true) return false;
  const objects = operation.previous ?? [];
  const known = new Set(objects.map((one) => minorOf(machineSpecOf(one)?.["versions"])));
  const hosts = sandbox.alive().filter(({ spec }) => "controlPlane" in spec);
  return hosts.some(({ spec }) => !known.has(minorOf(spec)));
}

function minorOf(versions: unknown): string | undefined {
  const { controlPlane } = (versions ?? {}) as { readonly controlPlane?: string };
  return controlPlane?.split(".").slice(0, 2).join(".");
}

/** What leads back has to be refused and to change nothing; then the way forward has to be open. */
async function goForward(sandbox: Sandbox, stack: string, comeback: Comeback): Promise<Recovered> {
  const { operation, recovery } = comeback;
  const before = sandbox.ledgerEnd();
  const command = startRecovery(sandbox, stack, operation, recovery);
  const code = await exitCodeOf(command);
  const changes = sandbox.mutations(before).length;
  if (code !== refusedCode || changes > 0) {
    const what = `${recovery} beyond the point of no return ${endText(code)}, ${changes} changes`;
    const verdict = stuckWith(`${what}: ${command.said}`);
    return { reached: "neither", target: undefined, verdict };
  }
  return recover(sandbox, stack, { ...comeback, recovery: "same" });
}

/** Judges whether a target is there in every respect, and whether nothing is left to plan (law 1). */
export async function judgeAt(
  sandbox: Sandbox,
  stack: string,
  reached: Recovered["reached"],
  target: Target,
): Promise<Recovered> {
  const verdict = await judgeReached(sandbox, stack, target);
  if (verdictProblems(verdict).length > 0) return { reached: "neither", target, verdict };
  if (target === undefined) return { reached: "nothing", target, verdict };
  writeTarget(sandbox.manifests, target);
  const command = sandbox.start("plan", "-f", sandbox.manifests);
  const code = await exitCodeOf(command);
  if (code === 0) return { reached, target, verdict };
  const stuck = [`plan of what was reached ${endText(code)}: ${command.said}`];
  return { reached: "neither", target, verdict: { ...verdict, stuck } };
}

/** Destroys what was reached: whatever happened before, that leaves nothing. */
export async function finalDestroy(
  sandbox: Sandbox,
  stack: string,
  recovered: Recovered,
): Promise<Recovered> {
  const command = startDestroy(sandbox, stack);
  const code = await exitCodeOf(command);
  if (code !== 0) {
    const verdict = stuckWith(`the last destroy ${endText(code)}: ${command.said}`);
    return { ...recovered, reached: "neither", verdict };
  }
  return { ...recovered, verdict: await judgeReached(sandbox, stack, undefined) };
}

function endText(code: number | null | undefined): string {
  return code === undefined ? "does not end" : `exits with ${code}`;
}

interface Destination {
  readonly reached: Recovered["reached"];
  readonly target: Target;
}

/** Where a recovery may end. What is committed, or was never begun, may also stay as it is. */
function destinations(
  { target, previous, third }: Operation,
  recovery: Recovery,
  progress: Progress,
): readonly Destination[] {
  switch (recovery) {
    case "same":
      return [{ reached: "target", target }];
    case "old":
      return [{ reached: "previous", target: previous }];
    case "third":
      return [{ reached: "third", target: third }];
    case "rollback": {
      const back: Destination = { reached: "previous", target: previous };
      return progress === "begun" ? [back] : [back, { reached: "target", target }];
    }
  }
}

/** How far an operation had come when it was disturbed, by what it had recorded. */
type Progress = "untouched" | "begun" | "committed";

async function progressOf(
  sandbox: Sandbox,
  stack: string,
  { baseline }: Operation,
): Promise<Progress> {
  const { resources = [] } = await sandbox.deploymentIfAny(stack);
  const numberOf = (kind: string) =>
    Number(resources.find(({ type }) => type.endsWith(`:${kind}`))?.inputs?.["number"] ?? 0);
  const before = { nothing: 0, first: 1, updated: 2 }[baseline];
  if (numberOf("Revision") > before) return "committed";
  return numberOf("Transaction") > before ? "begun" : "untouched";
}
