import type { Command } from "../scenario/command.js";
import { type Boundary, boundaryBefore, BoundaryMissed, boundaryText } from "./boundary.js";
import { isCopyable } from "./chaos-fault.js";
import type { Operation } from "./operation.js";
import { type Place, placeOf, placeText } from "./place.js";
import { pickBy, type Picker } from "./random.js";
import { endReleased, nextRequest, recoverByRequest } from "./records-request.js";
import {
  finalDestroy,
  judgeAt,
  judgeRepeated,
  type NextCommand,
  type Recovered,
  recover,
  wordsOf,
  wordsOfOperation,
} from "./recovery.js";
import { isRequest } from "./request-verbs.js";
import type { Aim, Scene } from "./scene.js";
import { stuckWith, verdictProblems } from "./verdict.js";

/** What is done about it. */
export interface Job {
  readonly aim: Aim;
  readonly ways: readonly NextCommand[];
  /** The recovery is killed as well, at a boundary of its own that this picks. */
  readonly again?: Picker | undefined;
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
  /** The run was over before it came there, and nothing else was wrong. */
  readonly missed?: true;
  readonly seconds: number;
}

/** The same at the boundary of the same kind before, for a job whose run was over before it came to its own. Pure. */
export function jobBefore(job: Job, results: readonly Result[]): Job | undefined {
  const boundary = results.some(({ missed }) => missed)
    ? boundaryBefore(job.aim.boundary)
    : undefined;
  return boundary && { ...job, aim: { ...job.aim, boundary } };
}

/**
 * Injects a fault into one run and recovers in each of the given ways, each from where the fault left it. The scene is
 * closed in the end.
 */
export async function attempt(scene: Scene, job: Job): Promise<Result[]> {
  const { aim } = job;
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
    const missed = error instanceof BoundaryMissed && ({ missed: true } as const);
    return [{ ...failed("none", false, error), ...missed }];
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
  const { operation } = aim;
  const injected = await scene.inject(aim, wordsOfOperation(operation, scene.stack));
  if (injected.kind === "killed") return { killed: injected.command };
  const { code, said } = injected;
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
  const scene = isShared ? await left.copy() : left;
  try {
    const { operation } = aim;
    const { second, ...first } = await recoverBy(scene, { aim, recovery, again });
    let recovered: Recovered = first;
    if (killed !== undefined && !isShared && recovered.place !== undefined) {
      await scene.letGoOn(aim.fault, killed);
      recovered = await judgedByLaws(scene, recovered.place);
    }
    const isWell = verdictProblems(recovered.verdict).length === 0;
    if (repeats === true && isWell && recovery === "same") {
      recovered = { ...recovered, verdict: await judgeRepeated(scene, operation) };
    }
    if (destroys === true && isWell) {
      if (isRequest(recovery)) await endReleased(scene);
      recovered = await finalDestroy(scene, operation, recovered);
    }
    const rest = { hit: true, seconds: secondsSince(begin) };
    return { ...recovered, aim, recovery, ...(second && { second }), ...rest };
  } finally {
    if (isShared) await scene.close();
  }
}

/** Runs the command that comes next; with `again` it is killed once before. */
async function recoverBy(
  scene: Scene,
  { aim, recovery, again }: Pick<Job, "aim" | "again"> & { readonly recovery: NextCommand },
): Promise<Pick<Result, keyof Recovered | "second">> {
  const { operation, boundary, fault } = aim;
  if (isRequest(recovery)) {
    const point = [operation.name, boundaryText(boundary), fault, recovery];
    const pick = (purpose: string) => pickBy(0, ...point, purpose);
    const next = await nextRequest(scene, { operation, verb: recovery, pick });
    return recoverByRequest(scene, next, again);
  }
  const words = wordsOf(operation, recovery, scene.stack);
  const second = again && (await scene.killSomewhere(words, again));
  const isSecond = second !== undefined;
  return {
    ...(await recover(scene, { operation, recovery, isSecond })),
    ...(second && { second }),
  };
}

function secondsSince(begin: number): number {
  return (Date.now() - begin) / 1000;
}
