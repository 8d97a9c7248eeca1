import { clearFaults } from "../scenario/cloud-faults.js";
import type { Command } from "../scenario/command.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { type Boundary, callBoundaries, startUpTo } from "./boundary.js";
import {
  type ChaosFault,
  isCopyable,
  isSpoiling,
  killAt,
  letGoOn,
  spoilAt,
} from "./chaos-fault.js";
import type { Operation } from "./operation.js";
import { type Place, placeOf, placeText } from "./place.js";
import type { Picker } from "./random.js";
import {
  finalDestroy,
  judgeAt,
  judgeRepeated,
  type Recovered,
  recover,
  type NextCommand,
  wordsOf,
  wordsOfOperation,
} from "./recovery.js";
import { exitCodeOf, Scene } from "./scene.js";
import { stuckWith, verdictProblems } from "./verdict.js";

/** One operation, with a fault at one boundary. */
export interface Aim {
  readonly operation: Operation;
  readonly boundary: Boundary;
  readonly fault: ChaosFault;
}

/** What is done about it. */
export interface Job {
  readonly aim: Aim;
  readonly ways: readonly NextCommand[];
  /** The recovery is killed as well, at a boundary of its own that this picks. */
  readonly again?: Picker;
  /** In the end everything is destroyed. */
  readonly destroys?: boolean;
  /** The same words, once they have reached their target, are typed again. */
  readonly repeats?: boolean;
}

/** What became of one recovery. */
export interface Result extends Recovered {
  readonly aim: Aim;
  /** "none": the command came through by itself, or took itself back. */
  readonly recovery: NextCommand | "none";
  /** Where the recovery was killed as well. */
  readonly second?: Boundary;
  /** False when the run never came to the boundary. */
  readonly hit: boolean;
  readonly seconds: number;
}

/** Injects a fault into one run and recovers in each of the given ways, each from where the fault left it. */
export async function attempt(baseline: Sandbox, stack: string, job: Job): Promise<Result[]> {
  const { aim } = job;
  const scene = Scene.from(baseline, stack);
  const begin = Date.now();
  const failed = (recovery: Result["recovery"], hit: boolean, error: unknown): Result => {
    const verdict = stuckWith(error instanceof Error ? error.message : String(error));
    return { place: undefined, verdict, aim, recovery, hit, seconds: secondsSince(begin) };
  };
  try {
    const { ended, killed } = await inject(scene, aim);
    const seconds = secondsSince(begin);
    const results: Result[] =
      ended === undefined ? [] : [{ ...ended, aim, recovery: "none", hit: true, seconds }];
    for (const recovery of waysAfter(ended, job.ways)) {
      const result = await recoverOnce(scene, { job, killed }, recovery).catch((error: unknown) =>
        failed(recovery, true, error),
      );
      results.push({ ...result, seconds: result.seconds + seconds });
    }
    return results;
  } catch (error) {
    return [failed("none", false, error)];
  } finally {
    await scene.close();
  }
}

/** What came through needs nothing more; what took itself back is tried again; else all ways. */
function waysAfter(
  ended: Recovered | undefined,
  ways: readonly NextCommand[],
): readonly NextCommand[] {
  if (ended === undefined) return ways;
  return placeText(ended.place) === "target" ? [] : ["same"];
}

/** What a fault left: a run that was killed, or where it ended all the same. */
interface Aftermath {
  readonly killed?: Command;
  readonly ended?: Recovered;
}

async function inject(scene: Scene, aim: Aim): Promise<Aftermath> {
  const { operation, boundary, fault } = aim;
  const { sandbox } = scene;
  const words = wordsOfOperation(operation, scene.stack);
  const from = sandbox.ledgerEnd();
  const asked = await scene.ask(words);
  if (!isSpoiling(fault)) {
    const killed = await killAt(sandbox, operation, boundary, fault);
    scene.note(words, { from, said: asked + killed.said });
    return { killed };
  }
  const { code, said } = await spoilAt(sandbox, operation, boundary, fault);
  scene.note(words, { from, said: asked + said });
  switch (code) {
    case 0:
      return { ended: await judgedByLaws(scene, placeOf("target", operation.target)) };
    case 1:
      return { ended: await judgedByLaws(scene, placeBack(operation)) };
    case 3:
    case 4:
      // It says that something is left: the recovery has to do the rest.
      return {};
    default:
      throw new Error(`it exits with ${code}: ${said}`);
  }
}

/** Where an operation is that has taken itself back. */
function placeBack({ verb, previous }: Operation): Place {
  return verb === "adopt" ? { kind: "found" } : placeOf("previous", previous);
}

async function judgedByLaws(scene: Scene, place: Place): Promise<Recovered> {
  const { verdict, ...there } = await judgeAt(scene, place);
  return { ...there, verdict: { ...verdict, laws: scene.lawProblems() } };
}

async function recoverOnce(
  left: Scene,
  about: { readonly job: Job; readonly killed: Command | undefined },
  recovery: NextCommand,
): Promise<Result> {
  const { job, killed } = about;
  const { aim, again, destroys, repeats } = job;
  const begin = Date.now();
  const isShared = isCopyable(aim.fault);
  const scene = isShared ? left.copy() : left;
  try {
    const { operation } = aim;
    const second =
      again === undefined ? undefined : await killRecovery(scene, { aim, again, recovery });
    let recovered = await recover(scene, { operation, recovery, isSecond: second !== undefined });
    if (killed !== undefined && !isShared && recovered.place !== undefined) {
      await letGoOn(scene.sandbox, aim.fault, killed);
      recovered = await judgedByLaws(scene, recovered.place);
    }
    const isWell = verdictProblems(recovered.verdict).length === 0;
    if (repeats === true && isWell && recovery === "same") {
      recovered = { ...recovered, verdict: await judgeRepeated(scene, operation) };
    }
    if (destroys === true && isWell) {
      recovered = await finalDestroy(scene, operation, recovered);
    }
    const rest = { hit: true, seconds: secondsSince(begin) };
    return { ...recovered, aim, recovery, ...(second && { second }), ...rest };
  } finally {
    if (isShared) await scene.close();
  }
}

/** Finds out on a copy which boundaries the recovery passes, and kills it at one of them. */
async function killRecovery(
  scene: Scene,
  {
    aim,
    again,
    recovery,
  }: { readonly aim: Aim; readonly again: Picker; readonly recovery: NextCommand },
): Promise<Boundary | undefined> {
  const words = wordsOf(aim.operation, recovery, scene.stack);
  const trial = scene.sandbox.copy();
  try {
    const begin = trial.ledgerEnd();
    await exitCodeOf(words.start(trial));
    const boundary = again(callBoundaries(trial.ledger(begin)));
    if (boundary === undefined) return undefined;
    const { sandbox } = scene;
    const from = sandbox.ledgerEnd();
    const command = await startUpTo(sandbox, boundary, () => words.start(sandbox));
    await command.killTree();
    clearFaults(sandbox.cloudFile);
    scene.note(words, { from, said: command.said });
    return boundary;
  } finally {
    await trial.close();
  }
}

function secondsSince(begin: number): number {
  return (Date.now() - begin) / 1000;
}
