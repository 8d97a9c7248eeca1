import type { Command } from "../scenario/command.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { clearFaults } from "../scenario/cloud-faults.js";
import { type Boundary, callBoundaries, startUpTo } from "./boundary.js";
import {
  type Disturbance,
  isCopyable,
  isSpoiling,
  killAt,
  letGoOn,
  spoilAt,
} from "./disturbance.js";
import type { Operation } from "./operation.js";
import type { Picker } from "./random.js";
import {
  exitCodeOf,
  finalDestroy,
  judgeAt,
  type Recovered,
  recover,
  type Recovery,
  startRecovery,
} from "./recovery.js";
import { stuckWith, verdictProblems } from "./verdict.js";

/** One operation, disturbed at one boundary. */
export interface Aim {
  readonly operation: Operation;
  readonly boundary: Boundary;
  readonly disturbance: Disturbance;
}

/** What is done about it. */
export interface Job {
  readonly aim: Aim;
  readonly ways: readonly Recovery[];
  /** The recovery is killed as well, at a boundary of its own that this picks. */
  readonly again?: Picker;
  /** In the end everything is destroyed. */
  readonly destroys?: boolean;
}

/** What became of one recovery. */
export interface Result extends Recovered {
  readonly aim: Aim;
  /** "none": the command came through by itself, or took itself back. */
  readonly recovery: Recovery | "none";
  /** Where the recovery was killed as well. */
  readonly second?: Boundary;
  /** False when the run never came to the boundary. */
  readonly hit: boolean;
  readonly seconds: number;
}

/** Disturbs one run and recovers in each of the given ways, each from where the disturbance left it. */
export async function attempt(baseline: Sandbox, stack: string, job: Job): Promise<Result[]> {
  const { aim } = job;
  const sandbox = baseline.copy();
  const begin = Date.now();
  const failed = (recovery: Result["recovery"], hit: boolean, error: unknown): Result => {
    const verdict = stuckWith(error instanceof Error ? error.message : String(error));
    const nowhere = { reached: "neither", target: undefined, verdict } as const;
    return { ...nowhere, aim, recovery, hit, seconds: secondsSince(begin) };
  };
  try {
    const { ended, killed } = await disturb(sandbox, stack, aim);
    const seconds = secondsSince(begin);
    const results: Result[] =
      ended === undefined ? [] : [{ ...ended, aim, recovery: "none", hit: true, seconds }];
    for (const recovery of waysAfter(ended, job.ways)) {
      const result = await recoverOnce(sandbox, { stack, job, killed }, recovery).catch(
        (error: unknown) => failed(recovery, true, error),
      );
      results.push({ ...result, seconds: result.seconds + seconds });
    }
    return results;
  } catch (error) {
    return [failed("none", false, error)];
  } finally {
    await sandbox.close();
  }
}

/** What came through needs nothing more; what took itself back is tried again; else all ways. */
function waysAfter(ended: Recovered | undefined, ways: readonly Recovery[]): readonly Recovery[] {
  if (ended === undefined) return ways;
  return ended.reached === "target" ? [] : ["same"];
}

/** What a disturbance left: a run that was killed, or where it ended all the same. */
interface Disturbed {
  readonly killed?: Command;
  readonly ended?: Recovered;
}

async function disturb(sandbox: Sandbox, stack: string, aim: Aim): Promise<Disturbed> {
  const { operation, boundary, disturbance } = aim;
  if (!isSpoiling(disturbance)) {
    return { killed: await killAt(sandbox, operation, boundary, disturbance) };
  }
  const { code, said } = await spoilAt(sandbox, operation, boundary, disturbance);
  switch (code) {
    case 0:
      return { ended: await judgeAt(sandbox, stack, "target", operation.target) };
    case 1:
      return { ended: await judgeAt(sandbox, stack, "previous", operation.previous) };
    case 3:
    case 4:
      // It says that something is left: the recovery has to do the rest.
      return {};
    default:
      throw new Error(`it exits with ${code}: ${said}`);
  }
}

async function recoverOnce(
  left: Sandbox,
  about: { readonly stack: string; readonly job: Job; readonly killed: Command | undefined },
  recovery: Recovery,
): Promise<Result> {
  const { stack, job, killed } = about;
  const { aim, again, destroys } = job;
  const begin = Date.now();
  const isShared = isCopyable(aim.disturbance);
  const sandbox = isShared ? left.copy() : left;
  try {
    const { operation } = aim;
    const second =
      again === undefined
        ? undefined
        : await killRecovery(sandbox, stack, { aim, again, recovery });
    let recovered = await recover(sandbox, stack, {
      ...{ operation, recovery },
      isSecond: second !== undefined,
    });
    if (killed !== undefined && !isShared && recovered.reached !== "neither") {
      await letGoOn(sandbox, aim.disturbance, killed);
      recovered = await judgeAt(sandbox, stack, recovered.reached, recovered.target);
    }
    if (destroys === true && verdictProblems(recovered.verdict).length === 0) {
      recovered = await finalDestroy(sandbox, stack, recovered);
    }
    const rest = { hit: true, seconds: secondsSince(begin) };
    return { ...recovered, aim, recovery, ...(second && { second }), ...rest };
  } finally {
    if (isShared) await sandbox.close();
  }
}

/** Finds out on a copy which boundaries the recovery passes, and kills it at one of them. */
async function killRecovery(
  sandbox: Sandbox,
  stack: string,
  {
    aim,
    again,
    recovery,
  }: { readonly aim: Aim; readonly again: Picker; readonly recovery: Recovery },
): Promise<Boundary | undefined> {
  const trial = sandbox.copy();
  try {
    const begin = trial.ledgerEnd();
    await exitCodeOf(startRecovery(trial, stack, aim.operation, recovery));
    const passed = callBoundaries(trial.ledger(begin));
    const boundary = again(passed);
    if (boundary === undefined) return undefined;
    const command = await startUpTo(sandbox, boundary, () =>
      startRecovery(sandbox, stack, aim.operation, recovery),
    );
    await command.killTree();
    clearFaults(sandbox.cloudFile);
    return boundary;
  } finally {
    await trial.close();
  }
}

function secondsSince(begin: number): number {
  return (Date.now() - begin) / 1000;
}
